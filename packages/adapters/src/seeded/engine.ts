import { type FaultPlan, type Faults, faults } from './faults.ts'
import { type Mortal, mortal, type MortalOptions } from './mortal.ts'
import { type Schedule, schedule, type ScheduleOptions } from './schedule.ts'

export type EngineOptions = ScheduleOptions & { readonly seed: string | number; readonly plan?: FaultPlan }

/** One seeded world: its time, its faults, and the processes that live in it. */
export type Engine = {
  readonly schedule: Schedule
  readonly faults: Faults
  /** A process of this name begins to live; its lives are counted, and each draws for itself. */
  readonly born: (name: string, options?: MortalOptions) => Mortal
}

export function engine({ seed, plan, ...options }: EngineOptions): Engine {
  const course = schedule(seed, options)
  const wrong = faults(plan)
  const lives = new Map<string, number>()
  return {
    schedule: course,
    faults: wrong,
    born(name, mortalOptions) {
      const life = (lives.get(name) ?? 0) + 1
      lives.set(name, life)
      return mortal({ name: `${name}#${life}`, schedule: course, faults: wrong }, mortalOptions)
    },
  }
}
