import { formatShortChannelId, parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import type { Graph, GraphChannel } from '@penstock/ports/lightning.ts'
import { getChannel } from 'lightning'
import { sharedAnswers } from '../shared/shared-answer.ts'
import type { Connection } from './connection.ts'
import { probing } from './probe.ts'
import { asked } from './raw-calls.ts'
import { Refusal } from './refusal.ts'

export function graph(node: Connection): Graph {
  // On a new block every sale between two nodes asks for the same.
  const channelsBetween = sharedAnswers((pair) => {
    const [a = '', b = ''] = pair.split(' ')
    return between(node, a, b)
  })
  return {
    // So do whoever watches a channel and whoever pays for it.
    channel: sharedAnswers((outpoint) => channel(node, outpoint)),
    between: (a, b) => channelsBetween(`${a} ${b}`),
    probe: probing(node),
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
async function between(node: Connection, a: string, b: string): Promise<readonly GraphChannel[]> {
  const found = await orNothing(async () => {
    const [ofA, ofB] = await Promise.all([nodeInfo(node, a, false), nodeInfo(node, b, false)])
    return nodeInfo(node, ofA.num_channels <= ofB.num_channels ? a : b, true)
  })
  const channels = found?.channels ?? []
  return channels
    .filter(({ node1_pub, node2_pub }) => (node1_pub === a && node2_pub === b) || (node1_pub === b && node2_pub === a))
    .map(fromRaw)
}

type RawPolicy = { readonly fee_base_msat: string; readonly fee_rate_milli_msat: string; readonly disabled: boolean }
type RawEdge = {
  readonly channel_id: string
  readonly chan_point: string
  readonly capacity: string
  readonly node1_pub: string
  readonly node2_pub: string
  readonly node1_policy: RawPolicy | null
  readonly node2_policy: RawPolicy | null
}
type NodeInfo = { readonly num_channels: number; readonly channels: readonly RawEdge[] }
type GetNodeInfo = (
  request: { readonly pub_key: string; readonly include_channels: boolean },
  done: (error: object | null, answer?: NodeInfo) => void,
) => void

/**
 * `lightning` asks for each of the channels once more, by itself, unless it may ask for lnd's version, which our macaroons
 * do not allow (lightning.proto: GetNodeInfo).
 */
async function nodeInfo({ ask }: Connection, pub_key: string, include_channels: boolean): Promise<NodeInfo> {
  const answer = await ask((lnd) => {
    const service = lnd.default as { getNodeInfo: GetNodeInfo } // `lightning` leaves lnd's own calls untyped
    return asked<NodeInfo>('GetNodeInfo', (done) => service.getNodeInfo({ pub_key, include_channels }, done))
  })
  return answer ?? { num_channels: 0, channels: [] }
}

function fromRaw({ channel_id, chan_point, capacity, node1_pub, node2_pub, node1_policy, node2_policy }: RawEdge): GraphChannel {
  const id = BigInt(channel_id)
  const [height, txIndex, vout] = [id >> 40n, (id >> 16n) & 0xffffffn, id & 0xffffn].map(Number) as [number, number, number] // three
  const policies = [[node1_pub, node1_policy] as const, [node2_pub, node2_policy] as const]
  return {
    outpoint: chan_point,
    shortChannelId: formatShortChannelId({ height, txIndex, vout }),
    capacitySat: BigInt(capacity),
    nodes: [node1_pub, node2_pub],
    policies: policies.flatMap(([node, policy]) =>
      policy
        ? {
            node,
            baseFeeMsat: BigInt(policy.fee_base_msat),
            feeRatePpm: Number(policy.fee_rate_milli_msat),
            disabled: policy.disabled,
          }
        : [],
    ),
  }
}

/** As it is in `getChannel`. A node whose fees nobody has heard of has no numbers yet. */
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
