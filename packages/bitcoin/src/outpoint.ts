export type Outpoint = { readonly txid: string; readonly vout: number }

/** Reads `txid:vout`. @returns lower case; undefined for anything else */
export function parseOutpoint(text: string): Outpoint | undefined {
  const [, txid, digits] = /^([0-9a-f]{64}):(0|[1-9]\d{0,9})$/i.exec(text) ?? []
  if (!txid || !digits) return undefined
  const vout = Number(digits)
  return vout <= 0xffff_ffff ? { txid: txid.toLowerCase(), vout } : undefined
}

export const formatOutpoint = ({ txid, vout }: Outpoint): string => `${txid}:${vout}`

/** @returns the outpoint in the one form that is stored and compared; undefined where it is none */
export function normaliseOutpoint(text: string): string | undefined {
  const outpoint = parseOutpoint(text)
  return outpoint && formatOutpoint(outpoint)
}

/** A short channel id has 16 bits for the output (BOLT 7), so a channel that could be announced or probed is never above it. */
const HIGHEST_FUNDING_INDEX = 0xffff

/** @returns the sentence that says why nobody can name this as the funding of a channel; undefined where it can be named */
export function fundingOutpointFault(text: string): string | undefined {
  const outpoint = parseOutpoint(text)
  if (!outpoint) return 'transaction must be in <txid>:<vout> format'
  return outpoint.vout > HIGHEST_FUNDING_INDEX
    ? `transaction must name an output of at most ${HIGHEST_FUNDING_INDEX}; a short channel id cannot name a higher one`
    : undefined
}

/** Where in the chain a funding output stands (BOLT 7), written `height x index x output`. */
export type ShortChannelId = { readonly height: number; readonly txIndex: number; readonly vout: number }

export function parseShortChannelId(text: string): ShortChannelId | undefined {
  const [, height, txIndex, vout] = /^(\d{1,8})x(\d{1,8})x(\d{1,5})$/.exec(text) ?? []
  if (height === undefined || txIndex === undefined || vout === undefined) return undefined
  const id = { height: Number(height), txIndex: Number(txIndex), vout: Number(vout) }
  return id.height <= 0xff_ffff && id.txIndex <= 0xff_ffff && id.vout <= 0xffff ? id : undefined
}

export const formatShortChannelId = ({ height, txIndex, vout }: ShortChannelId): string => `${height}x${txIndex}x${vout}`
