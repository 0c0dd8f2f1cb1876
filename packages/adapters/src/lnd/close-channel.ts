import { parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { closeChannel } from 'lightning'
import type { Connection } from './connection.ts'
import { ownChannels } from './own-channels.ts'
import { Refusal, Unreached } from './refusal.ts'

/** A peer that agrees signs at once; lnd waits without an end for one that does not. */
const AGREE_MS = 20_000

/** lnd's own end of a channel, with the peer where it is there and agrees, else by force. */
export async function closeOwnChannel(node: Connection, text: string): Promise<void> {
  const outpoint = parseOutpoint(text)
  const channel = (await ownChannels(node)).find((one) => one.outpoint === text)
  if (!outpoint || !channel || channel.state === 'closing') return
  if (channel.state === 'pending') throw new Fault(`the channel ${text} is not open yet`)
  const point = { transaction_id: outpoint.txid, transaction_vout: outpoint.vout }
  if (channel.state === 'active' && (await isAgreed(node, point))) return
  await node.ask((lnd) => closeChannel({ lnd, ...point, is_force_close: true }))
}

type Point = { readonly transaction_id: string; readonly transaction_vout: number }

async function isAgreed({ ask }: Connection, point: Point): Promise<boolean> {
  try {
    await ask((lnd) => closeChannel({ lnd, ...point }), AGREE_MS)
    return true
  } catch (error) {
    if (error instanceof Refusal || error instanceof Unreached) return false
    throw error
  }
}
