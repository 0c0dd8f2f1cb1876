import { connect, type Socket } from 'node:net'
import { headOf } from './cut-shots.ts'
import type { Market } from './market.ts'
import type { Shot } from './shot.ts'
import type { Slowly } from './slow.ts'
import type { Target } from './targets.ts'
import { wrongOnWire } from './wire.ts'

export type Unread = {
  /** Names of targets that were tried. */
  readonly tried: ReadonlySet<string>
  /** Reads the beginning of what came after all, and hangs up. @returns a sentence for each that is no answer */
  read(withinMs: number): Promise<readonly string[]>
}

/** A caller who asks all this at once, and takes no byte of what comes. */
type Deaf = { readonly name: string; readonly text: string; readonly mayBeCutOff?: true }

/** On one connection. */
const QUESTIONS = 12
const STREAMS = 5
const FLOODS = 8
/** What a process reads of a connection at a time: all of that is asked before anybody can see that nothing is taken. */
const READ_BYTES = 65_000
const ENOUGH_BYTES = 100_000

/** The longest answer that everybody gets, as often as it can be asked for at a time. */
const flood = ((page: string): Deaf => ({
  name: 'the schema again and again',
  text: page.repeat(Math.floor(READ_BYTES / page.length)),
  mayBeCutOff: true,
}))('GET /graphql/schema.graphql HTTP/1.1\r\nhost: x\r\n\r\n')

/** Callers who do not read: neither what there is to look at, with a credential that opens it, nor streams of events. */
export function openUnread({ host, port }: Pick<Market, 'host' | 'port'>, { callers, right }: Slowly): Unread {
  const looks = [...right].flatMap(([target, [shot]]) => looksAt(target, shot, callers))
  const sockets = [...looks, ...Array.from({ length: FLOODS }, () => flood)].map((deaf) => {
    const socket = connect(port, host).on('error', () => undefined)
    socket.write(deaf.text)
    return { ...deaf, socket }
  })
  return {
    tried: new Set(looks.map(({ name }) => name)),
    async read(withinMs) {
      const wrong = sockets.map(async ({ name, socket, mayBeCutOff }) => {
        const text = await beginningOf(socket, withinMs)
        const fault = text === '' && !mayBeCutOff ? 'nothing came' : wrongOnWire(text)
        return fault === undefined ? [] : [`${name}, not read for a while: ${fault}\n  ${text.slice(0, 500)}`]
      })
      return (await Promise.all(wrong)).flat()
    },
  }
}

function looksAt(target: Target, shot: Shot | undefined, { authorization }: Slowly['callers']): readonly Deaf[] {
  if (!shot || !/^(?:query|GET) /.test(target.name)) return []
  const body = Buffer.from(shot.body ?? '').toString()
  const length = body === '' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`
  const question = `${headOf(shot, authorization(shot.caller))}${length}\r\n${body}`
  // Nothing follows a stream on its connection.
  return target.name.endsWith('/events')
    ? Array.from({ length: STREAMS }, () => ({ name: target.name, text: question }))
    : [{ name: target.name, text: question.repeat(QUESTIONS) }]
}

function beginningOf(socket: Socket, withinMs: number): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const end = (): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(text)
    }
    const timer = setTimeout(end, withinMs)
    if (socket.destroyed) return end()
    socket.once('close', end)
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part
      if (text.length > ENOUGH_BYTES) end()
    })
  })
}
