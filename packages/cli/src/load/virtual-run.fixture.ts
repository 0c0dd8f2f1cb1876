import { createVirtualSchedule, type VirtualSchedule } from '@penstock/adapters/deterministic/virtual-schedule.ts'

/** Virtual time for a load run without a network, which advances while `complete` waits. */
export type VirtualRun = Pick<VirtualSchedule, 'clock' | 'now'> & {
  /** Advances the time until the run has ended. */
  complete<T>(run: Promise<T>): Promise<T>
}

export function createVirtualRun(): VirtualRun {
  const schedule = createVirtualSchedule('load')
  return {
    clock: schedule.clock,
    now: schedule.now,
    async complete(run) {
      let isOver = false
      const end = (): void => void (isOver = true)
      run.then(end, end)
      const reason = await schedule.run({ until: () => isOver })
      if (reason === 'idle') throw new Error('the run waits for an event that never comes')
      return run
    },
  }
}
