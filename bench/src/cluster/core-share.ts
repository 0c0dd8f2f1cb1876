import { parseCpuMs } from './cpu.ts'
import { readIfPresent } from './process-trees.ts'

type LimitedProcess = { readonly pid: number; readonly sinceMs: number; readonly cpuMsBefore: number; isStopped: boolean }

const CHECK_EVERY_MS = 20

/**
 * Holds processes to a share of one core each, on average since the call, by SIGSTOP and SIGCONT. It needs no right to create
 * control groups.
 * @returns a function that ends the limit
 */
export function limitCoreShare(pids: readonly number[], share: number): () => void {
  const readCpuMs = (pid: number): number => parseCpuMs(readIfPresent(`/proc/${pid}/stat`))
  const limited: readonly LimitedProcess[] = pids.map((pid) => ({
    pid,
    sinceMs: performance.now(),
    cpuMsBefore: readCpuMs(pid),
    isStopped: false,
  }))
  const resume = (one: LimitedProcess): void => {
    one.isStopped = false
    process.kill(one.pid, 'SIGCONT')
  }
  const timer = setInterval(() => {
    for (const one of limited) {
      const hasBudget = isWithinShare(readCpuMs(one.pid) - one.cpuMsBefore, performance.now() - one.sinceMs, share)
      if (hasBudget === !one.isStopped) continue
      if (hasBudget) resume(one)
      else {
        one.isStopped = true
        process.kill(one.pid, 'SIGSTOP')
      }
    }
  }, CHECK_EVERY_MS)
  return () => {
    clearInterval(timer)
    limited.forEach(resume)
  }
}

/** @param usedMs the CPU time that a process has used in `wallMs` */
export const isWithinShare = (usedMs: number, wallMs: number, share: number): boolean => usedMs <= wallMs * share
