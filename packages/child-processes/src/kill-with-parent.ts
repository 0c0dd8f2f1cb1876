import { type ChildProcess, spawn } from 'node:child_process'

/**
 * Kills a child when this process ends in any way, even by SIGKILL. A shell waits on a pipe from this process, and kills the
 * child when the pipe closes.
 * @param signal the signal's name without SIG, as the `kill` command takes it
 */
export function killWithParent(child: ChildProcess, signal: 'QUIT' | 'KILL' | 'TERM'): void {
  const guard = spawn('sh', ['-c', `cat; kill -${signal} $0`, String(child.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // A Ctrl-C in the terminal must not reach the shell.
  })
  guard.unref()
  child.once('exit', () => guard.kill('SIGKILL'))
}
