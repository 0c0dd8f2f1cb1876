import { Fault } from '@penstock/kernel/result.ts'
import type { Mortal } from './mortal.ts'
import type { Schedule } from './schedule.ts'

/** What the servers of a world write to. Full for a while now and then; then nothing can be stored, and all that is stored stays. */
export type Disk = {
  /** @throws Fault while it is full: nothing was written */
  checkSpace(writer: Mortal): void
}

const LEAST_FULL_MS = 500
const MOST_FULL_MS = 20_000

export function seededDisk({ now, random }: Schedule): Disk {
  const draws = random.fork('disk')
  let fullUntilMs = 0
  return {
    checkSpace(writer) {
      if (now() >= fullUntilMs && writer.strikes('diskFull')) fullUntilMs = now() + draws.between(LEAST_FULL_MS, MOST_FULL_MS)
      if (now() < fullUntilMs && writer.faults.areOn()) {
        writer.faults.count('write on a full disk')
        throw new Fault('the disk is full')
      }
    },
  }
}
