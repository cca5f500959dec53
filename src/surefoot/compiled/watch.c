/* What ends a process while other code holds Python's lock: stop_watch.py and worker.py.

   Called from threads of Python, which give up the lock for as long as the call lasts. */

#ifndef _WIN32

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE = 50 }; /* between two looks at whether Python noticed the signal, in milliseconds */

static void pause_for(long milliseconds)
{
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0) /* a signal interrupts it */
        ;
}

/* Wait until one of these signals is read from the pipe. Then end the process with this line and
   exit code: `to_notice` milliseconds later, or `to_end` after Python noticed the signal. Returns
   only where the pipe cannot be read. */
void end_after_signal(int pipe, const char *signals, const volatile char *noticed, long to_notice,
                      long to_end, const char *line, int code)
{
    char signal = 0;
    while (signal == 0 || strchr(signals, signal) == NULL) {
        ssize_t got = read(pipe, &signal, 1);
        if (got == 0 || (got < 0 && errno != EINTR))
            return;
    }
    for (long waited = 0; !*noticed && waited < to_notice; waited += PAUSE)
        pause_for(PAUSE);
    if (*noticed)
        pause_for(to_end);
    (void)!write(2, line, strlen(line)); /* perhaps nobody reads it */
    _exit(code);
}

/* End the process as soon as the other end of the pipe is closed. */
void end_with_pipe(int pipe, int code)
{
    struct pollfd readable = {pipe, POLLIN, 0};
    while (poll(&readable, 1, -1) != 1)
        ;
    _exit(code);
}

#endif
