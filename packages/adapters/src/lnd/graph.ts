import { formatShortChannelId, parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import type { Graph, GraphChannel } from '@penstock/ports/lightning.ts'
import { getChannel } from 'lightning'
import { createSingleFlights } from '../shared/single-flight.ts'
import type { LndConnection } from './connection.ts'
import { createProber } from './probe.ts'
import { callGrpc } from './grpc-calls.ts'
import { LndRefusal } from './rpc-errors.ts'

export function createGraphPort(node: LndConnection): Graph {
  // After each block all orders between two nodes request the same list, so they share a call.
  const channelsBetween = createSingleFlights((pair) => {
    const [a = '', b = ''] = pair.split(' ')
    return findBetween(node, a, b)
  })
  return {
    // After each block several callers request the same channel too.
    channel: createSingleFlights((outpoint) => findChannel(node, outpoint)),
    between: (a, b) => channelsBetween(`${a} ${b}`),
    probe: createProber(node),
  }
}

async function findChannel({ ask }: LndConnection, text: string): Promise<GraphChannel | undefined> {
  const outpoint = parseOutpoint(text)
  if (!outpoint) return undefined
  return undefinedIfNotFound(async () =>
    toGraphChannel(await ask((lnd) => getChannel({ lnd, transaction_id: outpoint.txid, transaction_vout: outpoint.vout }))),
  )
}

/** Reads the list of the node that has fewer channels, because a large node has thousands. */
async function findBetween(node: LndConnection, a: string, b: string): Promise<readonly GraphChannel[]> {
  const found = await undefinedIfNotFound(async () => {
    const [ofA, ofB] = await Promise.all([getNodeInfo(node, a, false), getNodeInfo(node, b, false)])
    return getNodeInfo(node, ofA.num_channels <= ofB.num_channels ? a : b, true)
  })
  const channels = found?.channels ?? []
  return channels
    .filter(({ node1_pub, node2_pub }) => (node1_pub === a && node2_pub === b) || (node1_pub === b && node2_pub === a))
    .map(fromRawEdge)
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
type RawNodeInfo = { readonly num_channels: number; readonly channels: readonly RawEdge[] }
type GetNodeInfo = (
  request: { readonly pub_key: string; readonly include_channels: boolean },
  done: (error: object | null, answer?: RawNodeInfo) => void,
) => void

/**
 * `lightning` would request each channel separately, because our macaroons do not allow it to read the version of lnd
 * (lightning.proto: GetNodeInfo).
 */
async function getNodeInfo({ ask }: LndConnection, pub_key: string, include_channels: boolean): Promise<RawNodeInfo> {
  const answer = await ask((lnd) => {
    const service = lnd.default as { getNodeInfo: GetNodeInfo } // `lightning` leaves lnd's own calls untyped
    return callGrpc<RawNodeInfo>('GetNodeInfo', (done) => service.getNodeInfo({ pub_key, include_channels }, done))
  })
  return answer ?? { num_channels: 0, channels: [] }
}

function fromRawEdge({
  channel_id,
  chan_point,
  capacity,
  node1_pub,
  node2_pub,
  node1_policy,
  node2_policy,
}: RawEdge): GraphChannel {
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

/** A channel in the format of `getChannel`. A node whose policy is unknown has no fee values. */
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

const toGraphChannel = ({ id, capacity, transaction_id, transaction_vout, policies }: Edge): GraphChannel => ({
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

async function undefinedIfNotFound<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof LndRefusal && error.code === 404) return undefined
    throw error
  }
}
