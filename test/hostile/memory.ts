import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Inside } from './probe.ts'

/** The heap with the buffers that hang on it. */
export type Memory = {
  /** More than before, in the end: what was kept. */
  readonly heapGrowthBytes: number
  /** More than before, at the most: what was in use at a time, after a collection. */
  readonly heapPeakBytes: number
  /** Resident at the most, as the kernel counts it. */
  readonly rssPeakBytes: number
  readonly newFiles: number
}

export type MemoryWatch = { stop(): Promise<Memory> }

const MIB = 1024 * 1024
const LOOK_EVERY_MS = 1000

/** @param inside what the watched process says of itself */
export async function watchMemory(inside: () => Promise<Pick<Inside, 'pid' | 'heapBytes' | 'files'>>): Promise<MemoryWatch> {
  const before = await inside()
  // From here on the kernel counts its peak anew (proc_pid_clear_refs(5)).
  writeFileSync(`/proc/${before.pid}/clear_refs`, '5')
  const stop = new AbortController()
  let peak = before.heapBytes
  const look = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const { heapBytes } = await inside()
      peak = Math.max(peak, heapBytes)
      await sleep(LOOK_EVERY_MS, undefined, { signal: stop.signal }).catch(() => undefined)
    }
  }
  const looking = look()
  return {
    async stop() {
      stop.abort()
      await looking
      const after = await inside()
      return {
        heapGrowthBytes: after.heapBytes - before.heapBytes,
        heapPeakBytes: Math.max(peak, after.heapBytes) - before.heapBytes,
        rssPeakBytes: residentPeak(before.pid),
        newFiles: after.files - before.files,
      }
    },
  }
}

const residentPeak = (pid: number): number =>
  1024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN)

/** However much is tried, and at whatever moment. */
const MOST = { heapGrowthMib: 32, heapPeakMib: 64, rssPeakMib: 768, newFiles: 16 }

/** @returns a sentence for each that is too much */
export const grown = ({ heapGrowthBytes, heapPeakBytes, rssPeakBytes, newFiles }: Memory): readonly string[] => [
  ...(heapGrowthBytes < MOST.heapGrowthMib * MIB ? [] : [`the heap grew by ${shown(heapGrowthBytes)}`]),
  ...(heapPeakBytes < MOST.heapPeakMib * MIB ? [] : [`the heap had ${shown(heapPeakBytes)} more at its highest`]),
  ...(rssPeakBytes < MOST.rssPeakMib * MIB ? [] : [`${shown(rssPeakBytes)} were resident at the highest`]),
  ...(newFiles < MOST.newFiles ? [] : [`${newFiles} files more are open`]),
]

const shown = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MiB`

export const toldMemory = ({ heapGrowthBytes, heapPeakBytes, rssPeakBytes, newFiles }: Memory): string =>
  `heap ${shown(heapGrowthBytes)} more, ${shown(heapPeakBytes)} at its highest, ${shown(rssPeakBytes)} resident at the highest, ${newFiles} files more`
