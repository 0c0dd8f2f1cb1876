import { account } from '@penstock/contracts/accounts.ts'
import { ask } from '@penstock/runtime/service.ts'
import { type Caller, accountHolder } from '../callers.ts'
import { accepted, inTime } from '../commands/answers.ts'
import { invalid } from '../errors.ts'
import { pubkeyOf, textOf } from '../input.ts'
import type { Gateway } from '../ports.ts'
import { type NodeRow, nodeOf } from '../read/accounts.ts'
import { answerBy } from './offers.ts'

/** @returns the text for the node to sign with lnd's `signmessage` */
export async function challengeNode(gateway: Gateway, caller: Caller | null, text: string): Promise<string> {
  const { accountId } = accountHolder(caller)
  const pubkey = pubkeyOf(text)
  const challenge = `penstock node 1 ${pubkey} ${Buffer.from(gateway.ids.random(16)).toString('hex')}`
  accepted(
    await gateway.commands.ask(ask(account, accountId, 'ChallengeNode', { pubkey, challenge }), { until: answerBy(gateway) }),
  )
  return challenge
}

export type ConnectNodeInput = { readonly pubkey: string; readonly challenge: string; readonly signature: string }

/** Answered when the node's own stream has said whose it is: one account a node. */
export async function connectNode(gateway: Gateway, caller: Caller | null, input: ConnectNodeInput) {
  const { accountId } = accountHolder(caller)
  const pubkey = pubkeyOf(input.pubkey)
  const challenge = textOf(input.challenge, 'challenge', 32, 256)
  const signature = textOf(input.signature, 'signature', 1, 256)
  const until = answerBy(gateway)
  accepted(await gateway.commands.ask(ask(account, accountId, 'ConnectNode', { pubkey, challenge, signature }), { until }))
  const node = inTime(await gateway.waits.wait(() => decided(gateway, accountId, pubkey), [accountId], until))
  if (node.state === 'refused') throw invalid(node.reason ?? 'This node belongs to another account.')
  return { id: pubkey, success: true }
}

async function decided({ views }: Gateway, accountId: string, pubkey: string): Promise<NodeRow | undefined> {
  const node = await nodeOf(views, accountId, pubkey)
  return node && node.state !== 'proven' ? node : undefined
}
