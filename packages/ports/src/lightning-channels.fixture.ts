import { OpenRefused, type OwnChannel, type UnpublishedFunding } from './lightning.ts'
import type { LightningFixture, FixtureNode } from './lightning-nodes.fixture.ts'
import { waitForValue } from './wait-for-value.fixture.ts'

export const CAPACITY_SAT = 500_000n

export async function connectEnds(fixture: LightningFixture): Promise<{ seller: string; buyer: string }> {
  const [seller, buyer] = [(await fixture.seller.lightning.info()).pubkey, (await fixture.buyer.lightning.info()).pubkey]
  await waitForValue('the seller is connected', () => fixture.seller.lightning.peers.connect(buyer, fixture.buyer.socket))
  return { seller, buyer }
}

export const ANNOUNCEMENT_DEPTH = 6

export async function openChannel(
  fixture: LightningFixture,
  isPrivate: boolean,
  depth = ANNOUNCEMENT_DEPTH,
): Promise<OwnChannel> {
  const { channels } = fixture.seller.lightning
  const funding = await waitForValue('the peer stays connected for an opening', () => prepareFunding(fixture, isPrivate))
  await channels.publish(funding)
  await fixture.mine(depth)
  return waitUntilActive(fixture, funding.outpoint)
}

/** @returns undefined if the peer disconnects meanwhile: after a restart both nodes connect, and one connection is dropped */
async function prepareFunding(fixture: LightningFixture, isPrivate: boolean): Promise<UnpublishedFunding | undefined> {
  const { buyer: peer } = await connectEnds(fixture)
  const request = { peer, capacitySat: CAPACITY_SAT, isPrivate, feeRateSatPerVbyte: 2, baseFeeMsat: 500n, feeRatePpm: 20 }
  try {
    return await fixture.seller.lightning.channels.prepare(request)
  } catch (error) {
    if (error instanceof OpenRefused && error.reason === 'peer-offline') return undefined
    throw error
  }
}

/** Waits until both ends can use the channel. @returns the channel as the seller's node lists it */
export const waitUntilActive = (fixture: LightningFixture, outpoint: string): Promise<OwnChannel> =>
  waitForValue('the channel is active at both ends', async () => {
    const [ours, theirs] = await Promise.all([
      findListedChannel(fixture.seller, outpoint),
      findListedChannel(fixture.buyer, outpoint),
    ])
    return ours?.state === 'active' && theirs?.state === 'active' && ours
  })

export const findListedChannel = async ({ lightning }: FixtureNode, outpoint: string): Promise<OwnChannel | undefined> =>
  (await lightning.channels.list()).find((channel) => channel.outpoint === outpoint)
