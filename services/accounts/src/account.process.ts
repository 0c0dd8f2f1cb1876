import type { NodeClaimCommand } from '@penstock/contracts/accounts.ts'
import { type Process, tell } from '@penstock/kernel/process.ts'
import type { Account } from './account.ts'

/** A node that proved itself is claimed in its own stream: one account a node. */
export const accountProcess: Process<Account> = ({ nodes }, id) =>
  Object.entries(nodes)
    .filter(([, state]) => state === 'proven')
    .map(([pubkey]) =>
      tell<NodeClaimCommand>('nodeclaim', pubkey, `claim ${pubkey}`, { type: 'ClaimNode', data: { accountId: id } }),
    )
