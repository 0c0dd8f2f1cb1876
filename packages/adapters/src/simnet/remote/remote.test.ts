import assert from 'node:assert/strict'
import { Fault } from '@penstock/kernel/result.ts'
import { chainContract } from '@penstock/ports/chain.contract.ts'
import { lightningContract } from '@penstock/ports/lightning.contract.ts'
import { test } from 'vitest'
import { systemClock } from '../../system/clock.ts'
import { type Scratch, scratchSimnet } from '../scratch.ts'
import { skipping } from '../skipping.ts'
import { remoteSimnet, type RemoteSimnet } from './client.ts'
import { serveSimnet } from './server.ts'

async function served() {
  const clock = skipping(systemClock)
  const scratch = scratchSimnet({ clock })
  const server = await serveSimnet(scratch.simnet(), '127.0.0.1', 0)
  return {
    scratch,
    clock,
    server,
    remote: remoteSimnet(server.url, systemClock),
    teardown: () => server.close().then(scratch.drop),
  }
}

async function node(remote: RemoteSimnet, alias: string) {
  const nodes = await remote.control.nodes()
  return { lightning: remote.lightning(alias), socket: nodes.find((other) => other.alias === alias)?.uri.split('@')[1] ?? '' }
}

lightningContract('simulated network in another process', async () => {
  const { remote, clock, teardown } = await served()
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
    pass: async (ms) => clock.putForward(ms),
    teardown,
  }
})

chainContract(
  'simulated network in another process',
  async () => {
    const { remote, teardown } = await served()
    const { control } = remote
    const buyer = (await control.nodes()).find(({ alias }) => alias === 'buyer')?.pubkey ?? ''
    return {
      chain: remote.chain(),
      mine: async (count) => void (await control.mine(count)),
      send: async () => (await control.open('seller-ada', buyer, 1_000_000n)).outpoint,
      spend: async (outpoint) => (await control.close(outpoint)).txid,
      reorganise: async (depth) => void (await control.reorg(depth)),
      replace: async (txid) => void (await control.doubleSpend(txid)),
      teardown,
    }
  },
  { reorgs: true, replacements: true },
)

test('while the network is down calls are faults, and streams go on when it is back', async () => {
  const { scratch, server, remote } = await served()
  const stop = new AbortController()
  const tips = remote.chain().tips(stop.signal)[Symbol.asyncIterator]()
  const next = async (): Promise<number> => {
    const one = await tips.next()
    return one.done === true ? Number.NaN : one.value.height
  }
  const first = await next()
  await server.close()
  await assert.rejects(() => remote.chain().tip(), Fault)
  await scratchAgain(scratch, server.url, async () => {
    await remote.control.mine(2)
    let height = first
    while (height < first + 2) height = await next()
    stop.abort()
    assert.equal((await tips.next()).done, true)
  })
})

async function scratchAgain(scratch: Scratch, url: string, during: () => Promise<void>): Promise<void> {
  const server = await serveSimnet(scratch.simnet(), '127.0.0.1', Number(new URL(url).port))
  await during()
  await server.close()
  await scratch.drop()
}

test('a stream that nobody reads any more may break', async () => {
  const { remote, teardown } = await served()
  const stop = new AbortController()
  for await (const { height } of remote.chain().tips(stop.signal)) {
    assert.ok(height > 0)
    break
  }
  stop.abort()
  // The connection ends in turns of its own: an error that nobody hears there would end the process.
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
  await teardown()
})

test('nothing can be called but what the network offers', async () => {
  const { server, teardown } = await served()
  const post = async (body: object) => (await fetch(`${server.url}/call`, { method: 'POST', body: JSON.stringify(body) })).json()
  const wrong = { part: 'control', node: '', name: 'constructor', args: ['return process'] }
  assert.match(JSON.stringify(await post(wrong)), /has no call/)
  assert.match(JSON.stringify(await post({ part: 'net', node: '', name: 'write', args: [] })), /failed/)
  await teardown()
})
