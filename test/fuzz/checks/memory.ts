import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessState } from '../probe.ts'

/** Memory and files of a process. The heap includes the buffers that it references. */
export type MemoryUse = {
  /** Growth until the end: memory that was not freed. */
  readonly heapGrowthBytes: number
  /** The highest growth at any time, measured after garbage collections. */
  readonly heapPeakBytes: number
  /** The highest resident memory, as the kernel reports it. */
  readonly rssPeakBytes: number
  readonly newFiles: number
}

export type MemoryWatch = { stop(): Promise<MemoryUse> }

const MIB = 1024 * 1024
const POLL_INTERVAL_MS = 1000

/** Starts to watch a process. @param readProcess reads the state of the process */
export async function watchMemory(
  readProcess: () => Promise<Pick<ProcessState, 'pid' | 'heapBytes' | 'files'>>,
): Promise<MemoryWatch> {
  const before = await readProcess()
  // Resets the kernel's peak of resident memory (proc_pid_clear_refs(5)).
  writeFileSync(`/proc/${before.pid}/clear_refs`, '5')
  const stop = new AbortController()
  let peak = before.heapBytes
  const poll = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const { heapBytes } = await readProcess()
      peak = Math.max(peak, heapBytes)
      await sleep(POLL_INTERVAL_MS, undefined, { signal: stop.signal }).catch(() => undefined)
    }
  }
  const polling = poll()
  return {
    async stop() {
      stop.abort()
      await polling
      const after = await readProcess()
      return {
        heapGrowthBytes: after.heapBytes - before.heapBytes,
        heapPeakBytes: Math.max(peak, after.heapBytes) - before.heapBytes,
        rssPeakBytes: readResidentPeak(before.pid),
        newFiles: after.files - before.files,
      }
    },
  }
}

const readResidentPeak = (pid: number): number =>
  1024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN)

/** Limits that do not depend on the number of requests. */
const MEMORY_LIMITS = { heapGrowthMib: 32, heapPeakMib: 64, rssPeakMib: 768, newFiles: 16 }

/** @returns a sentence for each figure above its limit */
export const checkMemory = ({ heapGrowthBytes, heapPeakBytes, rssPeakBytes, newFiles }: MemoryUse): readonly string[] => [
  ...(heapGrowthBytes < MEMORY_LIMITS.heapGrowthMib * MIB ? [] : [`the heap grew by ${formatMib(heapGrowthBytes)}`]),
  ...(heapPeakBytes < MEMORY_LIMITS.heapPeakMib * MIB ? [] : [`the heap had ${formatMib(heapPeakBytes)} more at its highest`]),
  ...(rssPeakBytes < MEMORY_LIMITS.rssPeakMib * MIB ? [] : [`${formatMib(rssPeakBytes)} were resident at the highest`]),
  ...(newFiles < MEMORY_LIMITS.newFiles ? [] : [`${newFiles} files more are open`]),
]

const formatMib = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MiB`

export const formatMemory = ({ heapGrowthBytes, heapPeakBytes, rssPeakBytes, newFiles }: MemoryUse): string =>
  `heap ${formatMib(heapGrowthBytes)} more, ${formatMib(heapPeakBytes)} at its highest, ${formatMib(rssPeakBytes)} resident at the highest, ${newFiles} files more`
