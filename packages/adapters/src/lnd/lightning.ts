import { recoverPubkey } from '@penstock/bitcoin/message-signature.ts'
import type { HostGuard } from '@penstock/outbound/host-guard.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { signMessage } from 'lightning'
import { createSingleFlight } from '../shared/single-flight.ts'
import { streamChannelChanges } from './channels/channel-changes.ts'
import { listClosedChannels } from './channels/closed-channels.ts'
import { createOpeningTracker } from './channels/utxo-locks.ts'
import type { LndConnection } from './connection.ts'
import { closeOrForceClose } from './channels/close-channel.ts'
import { abandonChannel, bumpFundingFee, broadcastFunding } from './channels/funding.ts'
import { createGraphPort } from './graph.ts'
import { createHoldInvoicesPort } from './holds.ts'
import { createHoldExpiryDeltaReader, readLndInfo } from './info.ts'
import { prepareOpening } from './channels/openings.ts'
import { listOwnChannels } from './channels/own-channels.ts'
import { createPaymentsPort } from './payments.ts'
import { createPeerFinder } from './peer-finder.ts'
import { createPeersPort } from './peers.ts'
import { createWalletPort } from './wallet.ts'

/**
 * Implements the port by an lnd node, version 0.20 or later.
 * @param guard limits the hosts that the node may connect to; null sets no limit
 */
export function lndLightning(node: LndConnection, guard: HostGuard | null = null): Lightning {
  const findPeer = createPeerFinder(node)
  const holdExpiryDelta = createHoldExpiryDeltaReader(node)
  const openings = createOpeningTracker()
  return {
    // Each action on a hold reads the info before and after, to check that it used the right node. Concurrent reads share one
    // call.
    info: createSingleFlight(() => readLndInfo(node, holdExpiryDelta)),
    holds: createHoldInvoicesPort(node, findPeer),
    payments: createPaymentsPort(node, findPeer),
    messages: {
      sign: async (text) => (await node.ask((lnd) => signMessage({ lnd, message: text }))).signature,
      // Recovering needs no node. The contract tests compare it with the results of lnd.
      recover: (text, signature) => Promise.resolve(recoverPubkey(text, signature)),
    },
    peers: createPeersPort(node, guard),
    graph: createGraphPort(node),
    channels: {
      // Concurrent openings share one call.
      list: createSingleFlight(() => listOwnChannels(node)),
      closed: () => listClosedChannels(node),
      changes: (signal) => streamChannelChanges(node, signal),
      prepare: (request) => prepareOpening(node, openings, request),
      publish: (funding) => broadcastFunding(node, funding),
      abandon: ({ outpoint }) => abandonChannel(node, openings, outpoint),
      bumpFee: (outpoint, feeRate, maxRate) => bumpFundingFee(node, outpoint, feeRate, maxRate),
      close: (outpoint) => closeOrForceClose(node, outpoint),
    },
    wallet: createWalletPort(node),
  }
}
