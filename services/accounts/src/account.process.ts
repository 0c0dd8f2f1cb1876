import type { NodeClaimTarget } from '@penstock/contracts/accounts.ts'
import { type Process, commandStep, command } from '@penstock/kernel/process.ts'
import type { Account } from './account.ts'

/** Claims each proven node in the node's own stream, so that a node has one account. */
export const accountProcess: Process<Account> = ({ nodes }, id) =>
  Object.entries(nodes)
    .filter(([, state]) => state === 'proven')
    .map(([pubkey]) =>
      commandStep(
        `claim ${pubkey}`,
        command<NodeClaimTarget>('nodeclaim', pubkey, { type: 'ClaimNode', data: { accountId: id } }),
      ),
    )
