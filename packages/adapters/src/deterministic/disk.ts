import { Fault } from '@penstock/kernel/result.ts'
import type { SimulatedProcess } from './faults/crash-injection.ts'
import type { VirtualSchedule } from './virtual-schedule.ts'

/** The disk of all servers of a simulation. It is sometimes full for a while. A full disk refuses writes and loses nothing. */
export type Disk = {
  /** @throws Fault while the disk is full; nothing was written then */
  checkSpace(writer: SimulatedProcess): void
}

const MIN_FULL_MS = 500
const MAX_FULL_MS = 20_000

export function deterministicDisk({ now, random }: VirtualSchedule): Disk {
  const prng = random.fork('disk')
  let fullUntilMs = 0
  return {
    checkSpace(writer) {
      if (now() >= fullUntilMs && writer.isInjected('diskFull')) fullUntilMs = now() + prng.between(MIN_FULL_MS, MAX_FULL_MS)
      if (now() < fullUntilMs && writer.faults.isEnabled()) {
        writer.faults.count('write on a full disk')
        throw new Fault('the disk is full')
      }
    },
  }
}
