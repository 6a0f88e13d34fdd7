/* Lets `cnd_timedwait`, by which librdkafka waits, go by the wrong clock of libfaketime.

   That of glibc passes libfaketime by: it compares what the wrong clock said with the right one. A
   wait of a second would last a day and a second where the clock is a day ahead. */
#include <errno.h>
#include <pthread.h>
#include <threads.h>

int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *until)
{
    int ended = pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, until);
    return ended == 0 ? thrd_success : ended == ETIMEDOUT ? thrd_timedout : thrd_error;
}
