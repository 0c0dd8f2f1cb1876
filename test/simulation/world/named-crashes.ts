import type { CrashTrigger } from '@penstock/adapters/deterministic/faults/crash-injection.ts'
import type { CrashPointHandler } from '@penstock/runtime/crash-points.ts'
import { currentProcess } from './current-process.ts'

/** Creates a handler of crash points. It crashes the process whose code is running, if the trigger has a crash at this visit. */
export const createCrashPointHandler =
  (isCrashDue: CrashTrigger, count: (name: string) => void): CrashPointHandler =>
  (point) => {
    const process = currentProcess()
    const service = point.slice(0, point.indexOf('.'))
    // The code of a crashed process runs on until its next call, and its visits do not count.
    if (!process?.isAlive() || !process.name.startsWith(`${service}.`) || !isCrashDue(point, 'after')) return
    count(formatNamedCrash(point))
    process.kill()
  }

/** @returns the name of the counter of crashes at this crash point */
export const formatNamedCrash = (point: string): string => `killed at ${point}`
