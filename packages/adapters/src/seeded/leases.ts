import type { Leases } from '@penstock/ports/leases.ts'
import type { CallOptions, Mortal } from './mortal.ts'
import type { Schedule } from './schedule.ts'

/** Leases by the world's time; what a dead owner held runs out by itself. */
export type SeededLeases = {
  of(process: Mortal): Leases
  /** Who has it now, for who looks from outside. */
  owner(name: string): string | undefined
}

const LEASE = {
  fault: 'leaseFault',
  unknown: 'leaseUnknown',
  late: 'leaseLate',
  orphan: 'leaseOrphan',
} as const satisfies CallOptions

export function seededLeases({ now }: Schedule): SeededLeases {
  const held = new Map<string, { readonly owner: string; readonly until: number }>()
  return {
    owner(name) {
      const present = held.get(name)
      return present && present.until > now() ? present.owner : undefined
    },
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
          LEASE,
        ),
      release: (name, owner) =>
        process.call('leases.release', () => void (held.get(name)?.owner === owner && held.delete(name)), LEASE),
    }),
  }
}
