import type { AuthenticatedLnd } from 'lightning'
import { expect, test } from 'vitest'
import { stillClock } from '@penstock/ports/still-clock.fixture.ts'
import type { LndConnection } from './connection.ts'
import { createGraphPort } from './graph.ts'

const [a, b, other] = ['aa', 'bb', 'cc'].map((byte) => `02${byte.repeat(32)}`) as [string, string, string]
const policy = { fee_base_msat: '7', fee_rate_milli_msat: '9', disabled: true }
const edge = {
  channel_id: `${(5n << 40n) + (2n << 16n) + 1n}`,
  chan_point: `${'dd'.repeat(32)}:1`,
  capacity: '100000',
  node1_pub: b,
  node2_pub: a,
  node1_policy: policy,
  node2_policy: null,
}

type Request = { readonly pub_key: string; readonly include_channels: boolean }
type Answer = { readonly num_channels: number; readonly channels: readonly object[] }

/** An lnd with the single call `getNodeInfo`, and the list of the requests for it. */
function lndOf(answer: (request: Request) => Answer | undefined) {
  const requests: Request[] = []
  const getNodeInfo = (request: Request, done: (error: object | null, answer?: object) => void): void => {
    requests.push(request)
    const found = answer(request)
    if (found) done(null, found)
    else done({ code: 5, details: 'unable to find node' })
  }
  const lnd = { default: { getNodeInfo } } as unknown as AuthenticatedLnd // the one call that is made
  const node: LndConnection = { clock: stillClock, lnd: () => lnd, ask: (work) => work(lnd) }
  return { requests, graph: createGraphPort(node) }
}

test('channels between two nodes are read from the list of the node that has fewer channels', async () => {
  const lnd = lndOf(({ pub_key, include_channels }) => ({
    num_channels: pub_key === a ? 1000 : 2,
    channels: include_channels ? [{ ...edge, node2_pub: other }, edge] : [],
  }))
  expect(await lnd.graph.between(a, b)).toEqual([
    {
      outpoint: edge.chan_point,
      shortChannelId: '5x2x1',
      capacitySat: 100_000n,
      nodes: [b, a],
      policies: [{ node: b, baseFeeMsat: 7n, feeRatePpm: 9, disabled: true }],
    },
  ])
  expect(lnd.requests).toEqual([
    { pub_key: a, include_channels: false },
    { pub_key: b, include_channels: false },
    { pub_key: b, include_channels: true },
  ])
})

test('an unknown node has no channels', async () => {
  expect(await lndOf(() => undefined).graph.between(a, b)).toEqual([])
})
