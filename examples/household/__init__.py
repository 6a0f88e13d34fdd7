"""Households of a power grid: what they want hidden, and when.

example  three days of meters, from raw records to an analyst's picture; a policy is added meanwhile
study    half a year of many households and zones, without Kafka: all strategies compared
"""
