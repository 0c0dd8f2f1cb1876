import { readdirSync } from 'node:fs'
import { setPriority } from 'node:os'

/** At this niceness, a process gets about a tenth of a core that it shares with a process of normal priority. */
const NICE = 10

/**
 * Lowers the priority of a process that would have its own machine in production. Linux has a priority per thread, and a new
 * thread inherits it from the thread that created it.
 * @throws Error if the process does not exist
 */
export function lowerPriority(pid: number): void {
  for (const thread of listThreads(pid)) setPriority(thread, NICE)
}

const listThreads = (pid: number): readonly number[] =>
  process.platform === 'linux' ? readdirSync(`/proc/${pid}/task`).map(Number) : [pid]
