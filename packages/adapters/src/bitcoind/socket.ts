import { Fault } from '@penstock/kernel/result.ts'
import { WebSocket } from 'ws'
import { type Answer, ANSWER_MS, type Call } from './call.ts'
import { readKeys, refusalOf, type RpcAddress } from './keys.ts'

type Ask = (call: Call) => Promise<Answer>

/** Whoever has begun to close the connection answers nothing more. */
const CLOSING_MS = 500

/**
 * Calls over one connection that stays, which btcd has beside HTTP: there it ends each connection after one answer, and who
 * asks much spends more on shaking hands than on answers. What ended is opened anew by the next call. A process has one of
 * them for as long as it runs, and it keeps none from ending.
 */
export function socketCalls(address: RpcAddress, answerMs = ANSWER_MS): Ask {
  let line: Promise<Ask> | undefined

  function open(): Promise<Ask> {
    const over = (): void => {
      if (line === opened) line = undefined
    }
    const opened = connect(address, answerMs, over)
    opened.catch(over)
    return opened
  }

  return async (call) => {
    line ??= open()
    const ask = await line
    return ask(call)
  }
}

/** @param over told when the connection is no more. @throws Fault where there comes none */
async function connect(address: RpcAddress, answerMs: number, over: () => void): Promise<Ask> {
  const { protocol, host, pathname } = new URL(address.url)
  // The node may have written its keys anew at a start.
  const { auth, secureContext } = await readKeys(address)
  const options = {
    auth,
    handshakeTimeout: answerMs,
    // Its types do not know this one yet.
    closeTimeout: CLOSING_MS,
    perMessageDeflate: false,
    ...(secureContext && { secureContext }),
  }
  const socket = new WebSocket(`${protocol}//${host}${pathname}`, options)
  socket.on('close', over)
  await opened(socket)
  return asking(socket, answerMs)
}

function opened(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(new Fault(`the bitcoin node does not answer: ${error.message}`, { cause: error }))
    // Nobody waits for the connection while nothing is asked.
    socket.on('upgrade', (response) => void response.socket.unref())
    socket.on('open', resolve)
    socket.on('error', (error) => {
      fail(error)
      // Once it is open, that is a message which nobody can read: no answer is sure any more.
      socket.terminate()
    })
    socket.on('unexpected-response', (request, { statusCode }) => {
      request.destroy()
      const nobody = `the bitcoin node has no calls there: it answers with HTTP ${statusCode}; only btcd has them, at /ws`
      reject(refusalOf(statusCode) ?? new Fault(nobody))
    })
  })
}

type Waiting = {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
  readonly late: NodeJS.Timeout
}

function asking(socket: WebSocket, answerMs: number): Ask {
  const waiting = new Map<number, Waiting>()
  let [lastId, heard] = [0, 0]
  const taken = (id: number): Waiting | undefined => {
    const one = waiting.get(id)
    waiting.delete(id)
    clearTimeout(one?.late)
    return one
  }
  socket.on('message', (data) => {
    heard += 1
    const answer = readAnswer((data as Buffer).toString()) // as whole messages come, by default
    if (answer) taken(answer.id)?.resolve(answer)
    // Whose answer it was cannot be told.
    else socket.terminate()
  })
  socket.on('close', () => {
    const ended = 'the bitcoin node does not answer: it has ended the connection'
    for (const id of waiting.keys()) taken(id)?.reject(new Fault(ended))
  })
  return ({ method, params }) =>
    new Promise((resolve, reject) => {
      const id = ++lastId
      const before = heard
      const late = setTimeout(() => {
        taken(id)?.reject(new Fault(`the bitcoin node does not answer: nothing for ${answerMs} ms`))
        // One that hung says nothing to the others either.
        if (heard === before) socket.terminate()
      }, answerMs)
      waiting.set(id, { resolve, reject, late })
      socket.send(JSON.stringify({ jsonrpc: '1.0', id, method, params }), (error) => {
        if (error) taken(id)?.reject(new Fault(`the bitcoin node cannot be asked: ${error.message}`, { cause: error }))
      })
    })
}

/** @returns undefined for what is no answer at all; what the node tells by itself has no number */
function readAnswer(text: string): (Answer & { readonly id: number }) | undefined {
  try {
    return JSON.parse(text) as Answer & { readonly id: number } // JSON-RPC's own form
  } catch {
    return undefined
  }
}
