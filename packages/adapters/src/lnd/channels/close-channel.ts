import { parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { closeChannel } from 'lightning'
import type { LndConnection } from '../connection.ts'
import { listOwnChannels } from './own-channels.ts'
import { LndRefusal, LndUnreachable } from '../rpc-errors.ts'

/** Timeout in ms of a cooperative close. A peer that agrees signs at once. For other peers lnd would wait without limit. */
const COOPERATIVE_CLOSE_MS = 20_000

/** Closes a channel cooperatively if the peer is connected and agrees, and otherwise by force. */
export async function closeOrForceClose(node: LndConnection, text: string): Promise<void> {
  const outpoint = parseOutpoint(text)
  const channel = (await listOwnChannels(node)).find((own) => own.outpoint === text)
  if (!outpoint || !channel || channel.state === 'closing') return
  if (channel.state === 'pending') throw new Fault(`the channel ${text} is not open yet`)
  const point = { transaction_id: outpoint.txid, transaction_vout: outpoint.vout }
  if (channel.state === 'active' && (await tryCooperativeClose(node, point))) return
  await node.ask((lnd) => closeChannel({ lnd, ...point, is_force_close: true }))
}

type ChannelPoint = { readonly transaction_id: string; readonly transaction_vout: number }

async function tryCooperativeClose({ ask }: LndConnection, point: ChannelPoint): Promise<boolean> {
  try {
    await ask((lnd) => closeChannel({ lnd, ...point }), COOPERATIVE_CLOSE_MS)
    return true
  } catch (error) {
    if (error instanceof LndRefusal || error instanceof LndUnreachable) return false
    throw error
  }
}
