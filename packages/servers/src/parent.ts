import { type ChildProcess, spawn } from 'node:child_process'

/**
 * Ends a child when this process ends in any way, also by kill -9: a shell waits on a pipe that closes then.
 * @param signal without its SIG, as `kill` takes it
 */
export function killWithParent(child: ChildProcess, signal: 'QUIT' | 'KILL' | 'TERM'): void {
  const guard = spawn('sh', ['-c', `cat; kill -${signal} $0`, String(child.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // a Ctrl-C for the terminal's processes is not for it
  })
  guard.unref()
  child.once('exit', () => guard.kill('SIGKILL'))
}
