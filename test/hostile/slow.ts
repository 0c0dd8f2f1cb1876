import { connect, type Socket } from 'node:net'
import { until } from '@penstock/testkit/until.ts'
import type { Callers } from './callers.ts'
import { headOf } from './cut-shots.ts'
import type { Market } from './market.ts'
import type { RightShots } from './right.ts'
import type { Shot } from './shot.ts'
import type { Target } from './targets.ts'
import type { Bytes } from './wire.ts'

/** One who is not in a hurry. `drip`: what is sent again and again behind the rest. */
type Loiterer = { readonly name: string; readonly begun: readonly Bytes[]; readonly drip?: string }

export type Slow = {
  readonly count: number
  /** Names of targets that were tried. */
  readonly tried: ReadonlySet<string>
  /** Waits until every one of them was sent away. @returns a sentence for each that may stay, or was answered */
  ended(withinMs: number): Promise<readonly string[]>
}

const DRIP_MS = 500
const SILENT = 8
/** The server's word for whoever takes too long, whatever the address and the credential; or nothing, where a reset overtook it. */
const TOO_LATE = /^(?:HTTP\/1\.1 408 [^\r\n]+\r\nconnection: close\r\n\r\n)?$/i
/** Nobody is in such a hurry that whoever says a little is sent away before that. */
const LEAST_MS = 9000

/** Ways never to come to the end of a body that is right as it stands. */
const WAYS: Readonly<Record<string, (head: string, body: Buffer) => Omit<Loiterer, 'name'>>> = {
  'a byte short, in silence': (head, body) => ({ begun: [`${head}content-length: ${body.length + 1}\r\n\r\n`, body] }),
  'blank after blank': (head, body) => ({ begun: [`${head}content-length: ${body.length + 5000}\r\n\r\n`, body], drip: ' ' }),
  'chunk after chunk': (head, body) => ({
    begun: [`${head}transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`, body, '\r\n'],
    drip: '1\r\n \r\n',
  }),
}

/** What each target may be asked, and with which credential. */
export type Slowly = { readonly callers: Pick<Callers, 'authorization'>; readonly right: RightShots }

/**
 * Callers who send a byte now and then, in the headers or in the body, to every address with a credential that opens it, and
 * never come to an end; and some who say nothing at all.
 */
export function openSlow(market: Pick<Market, 'host' | 'port'>, { callers, right }: Slowly): Slow {
  const targets = [...right]
  const heads = targets.flatMap(([target, [shot]]) => slowHeads(target, shot, callers))
  const bodies = targets.flatMap(([target, shots]) => slowBodies(target, shots, callers))
  const all: readonly Loiterer[] = [
    ...Array.from({ length: SILENT }, () => ({ name: 'nothing', begun: [] })),
    ...heads,
    ...bodies,
  ]
  const open = new Set<string>()
  const faults: string[] = []
  const sockets = all.map((loiterer, at) => {
    const name = `${at}: ${loiterer.name}`
    open.add(name)
    return loiter(market, loiterer, (text, afterMs) => {
      if (!open.delete(name) || (TOO_LATE.test(text) && afterMs > LEAST_MS)) return
      faults.push(
        `${loiterer.name}: never came to an end, and was answered after ${Math.round(afterMs)} ms: "${text.slice(0, 300)}"`,
      )
    })
  })
  return {
    count: all.length,
    tried: new Set(targets.flatMap(([{ name }]) => (bodies.some((one) => one.name.startsWith(`${name}, `)) ? [name] : []))),
    async ended(withinMs) {
      await until('the slow callers are sent away', () => open.size === 0, withinMs, 50).catch(() => undefined)
      const staying = [...open].map((name) => `${name}: never came to an end, and may stay`)
      open.clear()
      for (const socket of sockets) socket.destroy()
      return [...faults, ...staying]
    },
  }
}

function slowHeads({ name }: Target, shot: Shot | undefined, { authorization }: Slowly['callers']): readonly Loiterer[] {
  if (!shot || name.startsWith('another method')) return []
  const begun = [headOf(shot, authorization(shot.caller))]
  return [{ name: `${name}, header after header, by ${shot.caller}`, begun, drip: 'a: b\r\n' }]
}

function slowBodies(target: Target, shots: readonly Shot[], { authorization }: Slowly['callers']): readonly Loiterer[] {
  if (!takesBody(target)) return []
  // Where fewer are open to it they take turns.
  return Object.entries(WAYS).flatMap(([how, make], at) => {
    const shot = shots[at % shots.length]
    if (!shot) return []
    const head = headOf(shot, authorization(shot.caller))
    return [{ name: `${target.name}, ${how}, by ${shot.caller}`, ...make(head, Buffer.from(shot.body ?? '')) }]
  })
}

export const takesBody = ({ name }: Pick<Target, 'name'>): boolean => /^(?:query|mutation|POST) /.test(name)

function loiter(
  { host, port }: Pick<Market, 'host' | 'port'>,
  { begun, drip }: Loiterer,
  gone: (text: string, afterMs: number) => void,
): Socket {
  const began = performance.now()
  const socket = connect(port, host)
  let text = ''
  socket.setEncoding('latin1').on('data', (part: string) => (text += part))
  socket.on('error', () => undefined)
  for (const part of begun) socket.write(part)
  const dripping = drip === undefined ? undefined : setInterval(() => socket.write(drip), DRIP_MS)
  socket.once('close', () => {
    clearInterval(dripping)
    gone(text, performance.now() - began)
  })
  return socket
}
