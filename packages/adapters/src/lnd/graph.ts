import { parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import type { Graph, GraphChannel } from '@penstock/ports/lightning.ts'
import { getChannel, getNode } from 'lightning'
import { sharedAnswers } from '../shared/shared-answer.ts'
import type { Connection } from './connection.ts'
import { probe } from './probe.ts'
import { Refusal } from './refusal.ts'

export function graph(node: Connection): Graph {
  // On a new block every sale between two nodes asks for the same.
  const channelsBetween = sharedAnswers((pair) => {
    const [a = '', b = ''] = pair.split(' ')
    return between(node, a, b)
  })
  return {
    channel: (outpoint) => channel(node, outpoint),
    between: (a, b) => channelsBetween(`${a} ${b}`),
    probe: (request) => probe(node, request),
  }
}

async function channel({ ask }: Connection, text: string): Promise<GraphChannel | undefined> {
  const outpoint = parseOutpoint(text)
  if (!outpoint) return undefined
  return orNothing(async () =>
    toGraph(await ask((lnd) => getChannel({ lnd, transaction_id: outpoint.txid, transaction_vout: outpoint.vout }))),
  )
}

/** Of the one that has fewer: a large node has thousands of channels. */
async function between({ ask }: Connection, a: string, b: string): Promise<readonly GraphChannel[]> {
  const count = async (public_key: string): Promise<number> =>
    (await ask((lnd) => getNode({ lnd, public_key, is_omitting_channels: true }))).channel_count
  const found = await orNothing(async () => {
    const [ofA, ofB] = await Promise.all([count(a), count(b)])
    const { channels = [] } = await ask((lnd) => getNode({ lnd, public_key: ofA <= ofB ? a : b }))
    return channels
  })
  return (found ?? []).map(toGraph).filter(({ nodes }) => nodes.includes(a) && nodes.includes(b))
}

/** As it is in `getChannel` and in the channels of `getNode`. A node whose fees nobody has heard of has no numbers yet. */
type Edge = {
  readonly id: string
  readonly capacity: number
  readonly transaction_id: string
  readonly transaction_vout: number
  readonly policies: readonly {
    readonly public_key: string
    readonly base_fee_mtokens?: string
    readonly fee_rate?: number
    readonly is_disabled?: boolean
  }[]
}

const toGraph = ({ id, capacity, transaction_id, transaction_vout, policies }: Edge): GraphChannel => ({
  outpoint: `${transaction_id}:${transaction_vout}`,
  shortChannelId: id,
  capacitySat: BigInt(capacity),
  nodes: [policies[0]?.public_key ?? '', policies[1]?.public_key ?? ''],
  policies: policies.flatMap(({ public_key, base_fee_mtokens, fee_rate, is_disabled }) =>
    base_fee_mtokens === undefined || fee_rate === undefined
      ? []
      : { node: public_key, baseFeeMsat: BigInt(base_fee_mtokens), feeRatePpm: fee_rate, disabled: is_disabled === true },
  ),
})

async function orNothing<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal && error.code === 404) return undefined
    throw error
  }
}
