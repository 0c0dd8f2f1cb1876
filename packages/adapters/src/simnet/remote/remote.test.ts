import assert from 'node:assert/strict'
import { Fault } from '@penstock/kernel/result.ts'
import { chainContract } from '@penstock/ports/chain.contract.ts'
import { lightningContract } from '@penstock/ports/lightning.contract.ts'
import { test } from 'vitest'
import { createManualTime } from '../manual-time.fixture.ts'
import { type TemporaryNetwork, openTemporaryNetwork } from '../temporary-network.ts'
import { connectRemoteSimnet, type RemoteSimnet } from './client.ts'
import { serveSimnet } from './server.ts'

async function startServer() {
  const { clock, now, pass } = createManualTime()
  // A client retries in the next event-loop turn.
  const clientClock = { ...clock, sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) }
  const network = openTemporaryNetwork({ clock })
  const server = await serveSimnet(network.simnet(), '127.0.0.1', 0)
  return {
    network,
    now,
    pass,
    server,
    remote: connectRemoteSimnet(server.url, clientClock),
    teardown: () => server.close().then(network.drop),
  }
}

async function node(remote: RemoteSimnet, alias: string) {
  const nodes = await remote.control.nodes()
  return { lightning: remote.lightning(alias), socket: nodes.find((other) => other.alias === alias)?.uri.split('@')[1] ?? '' }
}

lightningContract('simulated network in another process', async () => {
  const { remote, now, pass, teardown } = await startServer()
  return {
    market: await node(remote, 'market'),
    buyer: await node(remote, 'buyer'),
    seller: await node(remote, 'seller-ada'),
    chain: remote.chain(),
    mine: async (count) => void (await remote.control.mine(count)),
    reorganise: async (depth, remine) => void (await remote.control.reorg(depth, { remine })),
    away: async (blocks) => {
      await remote.control.setOnline('market', false)
      await remote.control.mine(blocks)
      await remote.control.setOnline('market', true)
    },
    send: (request, amountMsat, totalMsat) => remote.control.pay('buyer', request, { amountMsat, totalMsat }),
    forget: (outpoint) => remote.control.forget(outpoint.split(':')[0] ?? ''),
    holdProbes: (held) => remote.control.holdProbes('buyer', held),
    openTaproot: async (sats, isPrivate) => {
      const { pubkey } = await remote.lightning('buyer').info()
      return (await remote.control.open('seller-ada', pubkey, sats, { isPrivate, isTaproot: true })).outpoint
    },
    buyerRefuses: (refuses) => remote.control.refuseOpenings('buyer', refuses),
    buyerAway: async (meanwhile) => {
      await remote.control.setOnline('buyer', false)
      await meanwhile()
      await remote.control.setOnline('buyer', true)
    },
    sellerAway: async (meanwhile) => {
      await remote.control.setOnline('seller-ada', false)
      await meanwhile()
      await remote.control.setOnline('seller-ada', true)
    },
    close: async (outpoint, by, how) =>
      void (await remote.control.close(outpoint, { by: by === 'buyer' ? by : 'seller-ada', force: how === 'force' })),
    pass,
    now,
    teardown,
  }
})

chainContract(
  'simulated network in another process',
  async () => {
    const { remote, now, teardown } = await startServer()
    const { control } = remote
    const buyer = (await control.nodes()).find(({ alias }) => alias === 'buyer')?.pubkey ?? ''
    return {
      chain: remote.chain(),
      mine: async (count) => void (await control.mine(count)),
      send: async () => (await control.open('seller-ada', buyer, 1_000_000n)).outpoint,
      spend: async (outpoint) => (await control.close(outpoint)).txid,
      reorganise: async (depth) => void (await control.reorg(depth)),
      replace: async (txid) => void (await control.doubleSpend(txid)),
      now,
      teardown,
    }
  },
  { reorgs: true, replacements: true },
)

test('calls throw a Fault while the server is down, and streams continue when it is back', async () => {
  const { network, server, remote } = await startServer()
  const stop = new AbortController()
  const tips = remote.chain().tips(stop.signal)[Symbol.asyncIterator]()
  const next = async (): Promise<number> => {
    const result = await tips.next()
    return result.done === true ? Number.NaN : result.value.height
  }
  const first = await next()
  await server.close()
  await assert.rejects(() => remote.chain().tip(), Fault)
  await reopenDuring(network, server.url, async () => {
    await remote.control.mine(2)
    let height = first
    while (height < first + 2) height = await next()
    stop.abort()
    assert.equal((await tips.next()).done, true)
  })
})

async function reopenDuring(network: TemporaryNetwork, url: string, during: () => Promise<void>): Promise<void> {
  const server = await serveSimnet(network.simnet(), '127.0.0.1', Number(new URL(url).port))
  await during()
  await server.close()
  await network.drop()
}

test('a stream that breaks without a reader does not end the process', async () => {
  const { remote, teardown } = await startServer()
  const stop = new AbortController()
  for await (const { height } of remote.chain().tips(stop.signal)) {
    assert.ok(height > 0)
    break
  }
  stop.abort()
  // The connection ends in later event-loop turns. An error without a listener would end the process there.
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
  await teardown()
})

test('a call that the network does not offer is refused', async () => {
  const { server, teardown } = await startServer()
  const post = async (body: object) => (await fetch(`${server.url}/call`, { method: 'POST', body: JSON.stringify(body) })).json()
  const unknownCall = { part: 'control', node: '', name: 'constructor', args: ['return process'] }
  assert.match(JSON.stringify(await post(unknownCall)), /has no call/)
  assert.match(JSON.stringify(await post({ part: 'net', node: '', name: 'write', args: [] })), /failed/)
  await teardown()
})
