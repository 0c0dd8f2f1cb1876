import { recover } from '@penstock/bitcoin/message-signature.ts'
import type { HostGuard } from '@penstock/outbound/host-guard.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { signMessage } from 'lightning'
import { sharedAnswer } from '../shared/shared-answer.ts'
import { channelChanges } from './channel-changes.ts'
import { closedChannels } from './closed-channels.ts'
import { openingsOf } from './coin-locks.ts'
import type { Connection } from './connection.ts'
import { closeOwnChannel } from './close-channel.ts'
import { abandonFunding, bumpFunding, publishFunding } from './funding.ts'
import { graph } from './graph.ts'
import { holdInvoices } from './holds.ts'
import { holdExpiryDeltaOf, nodeInfo } from './info.ts'
import { prepareFunding } from './openings.ts'
import { ownChannels } from './own-channels.ts'
import { payments } from './payments.ts'
import { peerOfChannel } from './peer-of-channel.ts'
import { peers } from './peers.ts'
import { wallet } from './wallet.ts'

/** A node of lnd, from 0.20 on, behind the port. @param guard which hosts it may be told to connect to; null: any */
export function lndLightning(node: Connection, guard: HostGuard | null = null): Lightning {
  const peerOf = peerOfChannel(node)
  const holdExpiryDelta = holdExpiryDeltaOf(node)
  const openings = openingsOf()
  return {
    // Whoever does something with a hold asks before and afterwards whether this is its node.
    info: sharedAnswer(() => nodeInfo(node, holdExpiryDelta)),
    holds: holdInvoices(node, peerOf),
    payments: payments(node, peerOf),
    messages: {
      sign: async (text) => (await node.ask((lnd) => signMessage({ lnd, message: text }))).signature,
      // Needs no node: the same arithmetic, held to lnd's by the contract suite.
      recover: (text, signature) => Promise.resolve(recover(text, signature)),
    },
    peers: peers(node, guard),
    graph: graph(node),
    channels: {
      // Many openings wait for the same list.
      list: sharedAnswer(() => ownChannels(node)),
      closed: () => closedChannels(node),
      changes: (signal) => channelChanges(node, signal),
      prepare: (request) => prepareFunding(node, openings, request),
      publish: (funding) => publishFunding(node, funding),
      abandon: ({ outpoint }) => abandonFunding(node, openings, outpoint),
      bumpFee: (outpoint, feeRate, maxRate) => bumpFunding(node, outpoint, feeRate, maxRate),
      close: (outpoint) => closeOwnChannel(node, outpoint),
    },
    wallet: wallet(node),
  }
}
