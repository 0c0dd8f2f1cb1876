import { openSimnet } from '@penstock/adapters/simnet/simnet.ts'
import { channel, type ChannelFact } from '@penstock/contracts/channel.ts'
import type { FeeCaps } from '@penstock/contracts/shapes.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { ask } from '@penstock/runtime/service.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { channelWatcher } from './service.ts'

/** The watcher beside a simulated network whose blocks come when told. */
async function world() {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-watcher-'))
  const { platform, store, caller } = await memoryWorld()
  const net = openSimnet({ path: join(folder, 'simnet.db'), blockSeconds: 0, clock: platform.clock })
  const start = () => run([bind(channelWatcher, { chain: net.chain(), lightning: net.lightning('market') })], platform)
  let running = await start()
  onTestFinished(async () => {
    await running.close()
    await net.close()
    await rm(folder, { recursive: true })
  })
  const { send } = await caller('channel-watcher')
  const pubkeyOf = (alias: string) => net.control.nodes().find((node) => node.alias === alias)?.pubkey ?? ''
  net.control.mine(2)
  const heldAtHeight = (await net.chain().tip()).height
  const terms = {
    sellerPubkey: pubkeyOf('seller-ada'),
    buyerPubkey: pubkeyOf('buyer'),
    capacitySat: '1000000',
    isPrivate: false,
    rails: true,
    heldAtHeight,
    requiredConfirmations: 3,
  }
  const facts = async (id: string): Promise<readonly ChannelFact['type'][]> =>
    (await store.read(`channel-${id}`)).map(({ type }) => type as ChannelFact['type']) // written by this service alone
  return {
    net,
    facts,
    open: () => net.control.open('seller-ada', terms.buyerPubkey, 1_000_000n).outpoint,
    tell: <T extends keyof typeof channel.commands>(id: string, type: T, data: Parameters<typeof ask<typeof channel, T>>[3]) =>
      send(ask(channel, id, type, data), randomUUID()),
    watch: (id: string, outpoint: string, feeCaps?: FeeCaps) => {
      const watched = {
        attempt: 1,
        outpoint,
        terms,
        attestation: null,
        fundingSeenBlocks: 6,
        fundingConfirmsWithinBlocks: 6,
        leaseBlocks: 50,
        naming: 1,
        ...(feeCaps && { feeCaps }),
      }
      return send(ask(channel, id, 'WatchOutpoint', watched), randomUUID())
    },
    shows: (id: string, type: ChannelFact['type'], times = 1) =>
      until(`${type} in channel-${id}`, async () => (await facts(id)).filter((known) => known === type).length >= times),
    restart: async () => {
      await running.close()
      running = await start()
    },
  }
}

test('a channel is seen, confirmed, proven, leased, and its early end is noticed', async () => {
  const { net, facts, open, tell, watch, shows } = await world()
  const id = randomUUID()
  const outpoint = open()
  await watch(id, outpoint)
  await shows(id, 'FundingSeen')
  net.control.mine(1)
  await shows(id, 'FundingConfirmed')
  net.control.mine(2)
  await shows(id, 'ConfirmationsReached')
  await shows(id, 'ChannelProven')
  await tell(id, 'StartLease', { outpoint })
  await shows(id, 'LeaseStarted')
  net.control.mine(5)
  await shows(id, 'ConfirmationsSeen')
  net.control.close(outpoint)
  net.control.mine(1)
  await shows(id, 'LeaseEnded')
  expect((await facts(id)).filter((type) => type !== 'ConfirmationsSeen')).toEqual([
    'WatchStarted',
    'FundingSeen',
    'FundingConfirmed',
    'ConfirmationsReached',
    'ChannelProven',
    'LeaseStarted',
    'LeaseEnded',
  ])
})

test('a re-organisation takes a confirmation back, and a restart forgets nothing', async () => {
  const { net, open, watch, shows, restart } = await world()
  const id = randomUUID()
  await watch(id, open())
  net.control.mine(2)
  await shows(id, 'FundingConfirmed')
  net.control.reorg(2)
  await shows(id, 'FundingReorged')
  await restart()
  net.control.mine(4)
  await shows(id, 'ConfirmationsReached')
})

test('a re-organisation may put the funding into a block as low as that of the hold: nobody is accused', async () => {
  const { net, facts, open, watch, shows } = await world()
  const id = randomUUID()
  await watch(id, open())
  net.control.mine(1)
  await shows(id, 'FundingConfirmed')
  net.control.reorg(2, { remine: true })
  await shows(id, 'FundingConfirmed', 2)
  await shows(id, 'ConfirmationsReached')
  expect(await facts(id)).not.toContain('ChannelWrong')
})

test('a seller that takes more for forwarding than it promised is told of, once', async () => {
  const { net, facts, open, tell, watch, shows } = await world()
  const id = randomUUID()
  const outpoint = open()
  await watch(id, outpoint, { baseFeeCapSat: '0', feeRateCapPpm: 500 })
  await shows(id, 'WatchStarted')
  net.control.mine(6)
  await shows(id, 'ChannelProven')
  await tell(id, 'StartLease', { outpoint })
  await shows(id, 'LeaseStarted')
  net.control.mine(1)
  await shows(id, 'PromiseBroken')
  net.control.close(outpoint)
  net.control.mine(1)
  await shows(id, 'LeaseEnded')
  expect((await facts(id)).filter((type) => type === 'PromiseBroken')).toHaveLength(1)
})

test('a funding that nobody publishes is lost, and so is one that is double-spent', async () => {
  const { net, facts, open, watch, shows } = await world()
  const [absent, gone] = [randomUUID(), randomUUID()]
  const outpoint = open()
  await watch(absent, `${'ab'.repeat(32)}:0`)
  await watch(gone, outpoint)
  await shows(gone, 'FundingSeen')
  net.control.doubleSpend(outpoint.slice(0, 64))
  net.control.mine(1)
  await shows(gone, 'FundingMissing')
  net.control.mine(2)
  await shows(gone, 'FundingLost')
  net.control.mine(3)
  await shows(absent, 'FundingLost')
  expect(await facts(absent)).toEqual(['WatchStarted', 'FundingLost'])
})

test('an outpoint that belongs to another channel is called wrong', async () => {
  const { net, watch, shows } = await world()
  const id = randomUUID()
  const buyer = net.control.nodes().find((node) => node.alias === 'buyer')?.pubkey ?? ''
  await watch(id, net.control.open('seller-ada', buyer, 500_000n).outpoint)
  await shows(id, 'ChannelWrong')
})
