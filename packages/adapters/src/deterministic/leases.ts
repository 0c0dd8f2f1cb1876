import type { Leases } from '@penstock/ports/leases.ts'
import type { CallOptions, SimulatedProcess } from './faults/crash-injection.ts'
import type { VirtualSchedule } from './virtual-schedule.ts'

/** Leases by virtual time. A lease of a crashed owner expires by itself. */
export type DeterministicLeases = {
  connect(process: SimulatedProcess): Leases
  /** The present owner, for the checks of a test. */
  ownerOf(name: string): string | undefined
}

const LEASE_FAULTS = {
  fault: 'leaseFault',
  answerLost: 'leaseUnknown',
  late: 'leaseLate',
  orphan: 'leaseOrphan',
} as const satisfies CallOptions

export function deterministicLeases({ now }: VirtualSchedule): DeterministicLeases {
  const held = new Map<string, { readonly owner: string; readonly until: number }>()
  return {
    ownerOf(name) {
      const present = held.get(name)
      return present && present.until > now() ? present.owner : undefined
    },
    connect: (process) => ({
      acquire: (name, owner, ttlMs) =>
        process.call(
          'leases.hold',
          () => {
            const present = held.get(name)
            if (present && present.owner !== owner && present.until > now()) return false
            held.set(name, { owner, until: now() + ttlMs })
            return true
          },
          LEASE_FAULTS,
        ),
      release: (name, owner) =>
        process.call('leases.release', () => void (held.get(name)?.owner === owner && held.delete(name)), LEASE_FAULTS),
    }),
  }
}
