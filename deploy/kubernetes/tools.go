//go:build tools

// Package kubernetes names the programs that `fetch` builds, so that go.sum has the hashes of all that is in them.
package kubernetes

import (
	_ "go.etcd.io/etcd/server/v3/etcdmain"
	_ "helm.sh/helm/v4/cmd/helm"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
)
