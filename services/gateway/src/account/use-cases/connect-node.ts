import { command } from '@penstock/kernel/process.ts'
import type { AccountTarget } from '@penstock/contracts/accounts.ts'
import { accountHolder } from '../../access.ts'
import { requireInTime, sendCommand } from '../../commands/commands.ts'
import { invalidInput } from '../../errors.ts'
import { parsePubkeyField, parseTextField } from '../../input.ts'
import type { Gateway } from '../../ports.ts'
import { type AccountNodeRow, findAccountNode } from '../read/accounts.ts'
import { dashboardLimit } from '../limits.ts'
import { mutation } from '../../use-case.ts'
import { getAnswerDeadline } from '../../commands/answer-deadline.ts'
import type { AccountNodeMutationsConnectArgs } from '../../generated/schema-types.ts'

/** Connects a node to the account. It waits for the node's own stream, which refuses a second account for the node. */
export const connectNode = mutation({
  path: 'account.node.connect',
  limit: dashboardLimit,
  access: accountHolder,
  input: ({ input }: AccountNodeMutationsConnectArgs) => ({
    pubkey: parsePubkeyField(input.pubkey),
    challenge: parseTextField(input.challenge, 'challenge', 32, 256),
    signature: parseTextField(input.signature, 'signature', 1, 256),
  }),
  run: async (proof, { gateway, caller: { accountId } }) => {
    const { pubkey } = proof
    const until = getAnswerDeadline(gateway)
    await sendCommand(gateway, command<AccountTarget>('account', accountId, { type: 'ConnectNode', data: proof }), { until })
    const node = requireInTime(await gateway.waiters.wait(() => findDecidedNode(gateway, accountId, pubkey), [accountId], until))
    if (node.state === 'refused') throw invalidInput(node.reason ?? 'This node belongs to another account.')
    return { id: pubkey, success: true }
  },
})

async function findDecidedNode({ views }: Gateway, accountId: string, pubkey: string): Promise<AccountNodeRow | undefined> {
  const node = await findAccountNode(views, accountId, pubkey)
  return node && node.state !== 'proven' ? node : undefined
}
