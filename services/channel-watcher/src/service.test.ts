import { command, type CommandBody } from '@penstock/kernel/process.ts'
import { openSimnet } from '@penstock/adapters/simnet/simnet.ts'
import type { ChannelCommand, ChannelFact, ChannelTarget } from '@penstock/contracts/channel.ts'
import type { FeeCaps } from '@penstock/contracts/shapes.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { createSkippableClock } from '@penstock/testkit/skippable-clock.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { channelWatcherService } from './service.ts'

/** The watcher with a simulated network on which the test mines the blocks. */
async function openFixture() {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-watcher-'))
  const clock = createSkippableClock()
  const { platform, store, caller } = await createMemoryPlatform({}, clock)
  const net = openSimnet({ path: join(folder, 'simnet.db'), blockSeconds: 0, clock: platform.clock })
  const start = () => run([bind(channelWatcherService, { chain: net.chain(), lightning: net.lightning('market') })], platform)
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
    (await store.read(`channel-${id}`)).map(({ type }) => type as ChannelFact['type']) // only this service writes it
  return {
    net,
    facts,
    open: () => net.control.open('seller-ada', terms.buyerPubkey, 1_000_000n).outpoint,
    sendCommand: (id: string, body: CommandBody<ChannelCommand>) =>
      send(command<ChannelTarget>('channel', id, body), randomUUID()),
    watch: (id: string, outpoint: string, feeCaps?: FeeCaps) => {
      const watched = {
        attempt: 1,
        outpoint,
        terms,
        attestation: null,
        fundingSeenBlocks: 6,
        fundingConfirmsWithinBlocks: 6,
        leaseBlocks: 50,
        outpointNumber: 1,
        ...(feeCaps && { feeCaps }),
      }
      return send(command<ChannelTarget>('channel', id, { type: 'WatchOutpoint', data: watched }), randomUUID())
    },
    waitForFact: (id: string, type: ChannelFact['type'], times = 1) =>
      waitUntil(`${type} in channel-${id}`, async () => (await facts(id)).filter((known) => known === type).length >= times),
    /** Sets the clock ahead while it waits, since an idle lease is observed at intervals. */
    waitForLeaseFact: (id: string, type: ChannelFact['type']) =>
      waitUntil(`${type} in channel-${id}`, async () => {
        clock.skip(1000)
        return (await facts(id)).includes(type)
      }),
    restart: async () => {
      await running.close()
      running = await start()
    },
  }
}

test('a channel is seen, confirmed, proven and leased, and its early end is recorded', async () => {
  const { net, facts, open, sendCommand, watch, waitForFact } = await openFixture()
  const id = randomUUID()
  const outpoint = open()
  await watch(id, outpoint)
  await waitForFact(id, 'FundingSeen')
  net.control.mine(1)
  await waitForFact(id, 'FundingConfirmed')
  net.control.mine(2)
  await waitForFact(id, 'ConfirmationsReached')
  await waitForFact(id, 'ChannelProven')
  await sendCommand(id, { type: 'StartLease', data: { outpoint } })
  await waitForFact(id, 'LeaseStarted')
  net.control.mine(5)
  await waitForFact(id, 'ConfirmationsSeen')
  net.control.close(outpoint)
  net.control.mine(1)
  await waitForFact(id, 'LeaseEnded')
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

test('a re-organisation is recorded, and the watch continues after a restart', async () => {
  const { net, open, watch, waitForFact, restart } = await openFixture()
  const id = randomUUID()
  await watch(id, open())
  net.control.mine(2)
  await waitForFact(id, 'FundingConfirmed')
  net.control.reorg(2)
  await waitForFact(id, 'FundingReorged')
  await restart()
  net.control.mine(4)
  await waitForFact(id, 'ConfirmationsReached')
})

test('a funding that a re-organisation moves down to the height of the hold stays valid', async () => {
  const { net, facts, open, watch, waitForFact } = await openFixture()
  const id = randomUUID()
  await watch(id, open())
  net.control.mine(1)
  await waitForFact(id, 'FundingConfirmed')
  net.control.reorg(2, { remine: true })
  await waitForFact(id, 'FundingConfirmed', 2)
  await waitForFact(id, 'ConfirmationsReached')
  expect(await facts(id)).not.toContain('ChannelInvalid')
})

test('a forwarding fee above the promised cap is recorded once', async () => {
  const { net, facts, open, sendCommand, watch, waitForFact, waitForLeaseFact } = await openFixture()
  const id = randomUUID()
  const outpoint = open()
  await watch(id, outpoint, { baseFeeCapSat: '0', feeRateCapPpm: 500 })
  await waitForFact(id, 'WatchStarted')
  net.control.mine(6)
  await waitForFact(id, 'ChannelProven')
  await sendCommand(id, { type: 'StartLease', data: { outpoint } })
  await waitForFact(id, 'LeaseStarted')
  net.control.mine(1)
  await waitForLeaseFact(id, 'PromiseBroken')
  net.control.close(outpoint)
  net.control.mine(1)
  await waitForLeaseFact(id, 'LeaseEnded')
  expect((await facts(id)).filter((type) => type === 'PromiseBroken')).toHaveLength(1)
})

test('an unpublished funding is lost, and so is a double-spent funding', async () => {
  const { net, facts, open, watch, waitForFact } = await openFixture()
  const [absent, gone] = [randomUUID(), randomUUID()]
  const outpoint = open()
  await watch(absent, `${'ab'.repeat(32)}:0`)
  await watch(gone, outpoint)
  await waitForFact(gone, 'FundingSeen')
  net.control.doubleSpend(outpoint.slice(0, 64))
  net.control.mine(1)
  await waitForFact(gone, 'FundingMissing')
  net.control.mine(2)
  await waitForFact(gone, 'FundingLost')
  net.control.mine(3)
  await waitForFact(absent, 'FundingLost')
  expect(await facts(absent)).toEqual(['WatchStarted', 'FundingLost'])
})

test('an outpoint of a channel with less capacity is invalid', async () => {
  const { net, watch, waitForFact } = await openFixture()
  const id = randomUUID()
  const buyer = net.control.nodes().find((node) => node.alias === 'buyer')?.pubkey ?? ''
  await watch(id, net.control.open('seller-ada', buyer, 500_000n).outpoint)
  await waitForFact(id, 'ChannelInvalid')
})
