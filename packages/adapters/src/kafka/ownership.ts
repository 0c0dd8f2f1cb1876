import type { PartitionOffset } from './mends.ts'
import { openWindow, type Window } from './window.ts'

/** Which partitions of a topic this process has, with the place that it has reached in each and what of that is committed. */
export function ownership() {
  let windows = new Map<number, Window>()
  let committed = new Map<number, number>()

  function renewed(partition: number): Window {
    windows.get(partition)?.lose()
    const window = openWindow(partition)
    windows.set(partition, window)
    committed.delete(partition)
    return window
  }
  return {
    window: (partition: number): Window | undefined => windows.get(partition),
    /** @returns the window in which to take a batch; a new one where the log ends before what was read of it */
    windowFor(partition: number, highWatermark: number): Window | undefined {
      const window = windows.get(partition)
      return window?.isBeyond(highWatermark) ? renewed(partition) : window
    },
    /** Those that stay go on where they are; what others have now is dropped. */
    assign(partitions: readonly number[]): void {
      const [before, saved] = [windows, committed]
      windows = new Map(partitions.map((partition) => [partition, before.get(partition) ?? openWindow(partition)]))
      committed = new Map([...saved].filter(([partition]) => windows.has(partition)))
      for (const [partition, window] of before) if (!windows.has(partition)) window.lose()
    },
    count: (): number => windows.size,
    uncommitted: (): PartitionOffset[] =>
      [...windows.values()].flatMap((window) => {
        const progress = window.progress()
        if (progress === undefined || progress === committed.get(window.partition)) return []
        return [{ partition: window.partition, offset: String(progress) }]
      }),
    noteCommitted(offsets: readonly PartitionOffset[]): void {
      for (const { partition, offset } of offsets) if (windows.has(partition)) committed.set(partition, Number(offset))
    },
  }
}
