import type { Leases } from '@penstock/ports/leases.ts'
import type { Mortal } from './mortal.ts'
import type { Schedule } from './schedule.ts'

/** Leases by the world's time; what a dead owner held runs out by itself. */
export type SeededLeases = { of(process: Mortal): Leases }

export function seededLeases({ now }: Schedule): SeededLeases {
  const held = new Map<string, { readonly owner: string; readonly until: number }>()
  return {
    of: (process) => ({
      hold: (name, owner, ttlMs) =>
        process.call(
          'leases.hold',
          () => {
            const present = held.get(name)
            if (present && present.owner !== owner && present.until > now()) return false
            held.set(name, { owner, until: now() + ttlMs })
            return true
          },
          { fault: 'leaseFault', unknown: 'leaseUnknown' },
        ),
      release: (name, owner) =>
        process.call('leases.release', () => void (held.get(name)?.owner === owner && held.delete(name)), {
          fault: 'leaseFault',
          unknown: 'leaseUnknown',
        }),
    }),
  }
}
