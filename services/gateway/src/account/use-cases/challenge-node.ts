import { command } from '@penstock/kernel/process.ts'
import type { AccountTarget } from '@penstock/contracts/accounts.ts'
import { accountHolder } from '../../access.ts'
import { sendCommand } from '../../commands/commands.ts'
import { parsePubkeyField } from '../../input.ts'
import { dashboardLimit } from '../limits.ts'
import { mutation } from '../../use-case.ts'
import type { AccountNodeMutationsChallengeArgs } from '../../generated/schema-types.ts'

/** Answers with the text for the node to sign with lnd's `signmessage`. */
export const challengeNode = mutation({
  path: 'account.node.challenge',
  limit: dashboardLimit,
  access: accountHolder,
  input: ({ pubkey }: AccountNodeMutationsChallengeArgs) => parsePubkeyField(pubkey),
  run: async (pubkey, { gateway, caller: { accountId } }) => {
    const challenge = `penstock node 1 ${pubkey} ${Buffer.from(gateway.ids.random(16)).toString('hex')}`
    await sendCommand(
      gateway,
      command<AccountTarget>('account', accountId, { type: 'ChallengeNode', data: { pubkey, challenge } }),
    )
    return challenge
  },
})
