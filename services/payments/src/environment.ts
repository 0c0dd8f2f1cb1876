import type { EnvironmentCommand, EnvironmentFact } from '@penstock/contracts/payments/environment.ts'
import { accept, type Decider, type Refusal } from '@penstock/kernel/decider.ts'
import { environmentNotFound, liveRefusal } from './refusals.ts'

export type Environment = { readonly status: 'NONE' | 'ACTIVE' | 'DELETED' }

/** A deleted environment is never created again. Its wallets, transactions and keys end in every fold that reads its deletion. */
export const environmentDecider: Decider<
  Environment,
  EnvironmentCommand,
  EnvironmentFact,
  Refusal<'LIVE_NOT_SERVED' | 'NOT_FOUND'>
> = {
  initial: { status: 'NONE' },
  evolve: (_, { type }) => ({ status: type === 'EnvironmentCreated' ? 'ACTIVE' : 'DELETED' }),
  decide({ status }, { type, data }) {
    switch (type) {
      case 'CreateEnvironment':
        if (status !== 'NONE') return accept()
        return data.type === 'LIVE' ? liveRefusal : accept({ type: 'EnvironmentCreated', v: 1, data })
      case 'DeleteEnvironment':
        if (status === 'NONE') return environmentNotFound
        return status === 'DELETED' ? accept() : accept({ type: 'EnvironmentDeleted', v: 1, data })
    }
  },
}
