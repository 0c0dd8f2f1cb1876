export type Outpoint = { readonly txid: string; readonly vout: number }

/** Parses `txid:vout`. @returns the txid in lower case; undefined for any other text */
export function parseOutpoint(text: string): Outpoint | undefined {
  const [, txid, digits] = /^([0-9a-f]{64}):(0|[1-9]\d{0,9})$/i.exec(text) ?? []
  if (!txid || !digits) return undefined
  const vout = Number(digits)
  return vout <= 0xffff_ffff ? { txid: txid.toLowerCase(), vout } : undefined
}

export const formatOutpoint = ({ txid, vout }: Outpoint): string => `${txid}:${vout}`

/** @returns the outpoint in the form in which it is stored and compared; undefined for any other text */
export function normaliseOutpoint(text: string): string | undefined {
  const outpoint = parseOutpoint(text)
  return outpoint && formatOutpoint(outpoint)
}

/** The highest output index in a short channel id (BOLT 7). A channel with a higher index cannot be announced or probed. */
const MAX_FUNDING_INDEX = 0xffff

/** @returns the reason why this text cannot be a funding outpoint, as a sentence; undefined if it can */
export function validateFundingOutpoint(text: string): string | undefined {
  const outpoint = parseOutpoint(text)
  if (!outpoint) return 'transaction must be in <txid>:<vout> format'
  return outpoint.vout > MAX_FUNDING_INDEX
    ? `transaction must name an output of at most ${MAX_FUNDING_INDEX}; a short channel id cannot name a higher one`
    : undefined
}

/** Position of a funding output in the chain (BOLT 7), written `height x index x output`. */
export type ShortChannelId = { readonly height: number; readonly txIndex: number; readonly vout: number }

export function parseShortChannelId(text: string): ShortChannelId | undefined {
  const [, height, txIndex, vout] = /^(\d{1,8})x(\d{1,8})x(\d{1,5})$/.exec(text) ?? []
  if (height === undefined || txIndex === undefined || vout === undefined) return undefined
  const id = { height: Number(height), txIndex: Number(txIndex), vout: Number(vout) }
  return id.height <= 0xff_ffff && id.txIndex <= 0xff_ffff && id.vout <= 0xffff ? id : undefined
}

export const formatShortChannelId = ({ height, txIndex, vout }: ShortChannelId): string => `${height}x${txIndex}x${vout}`
