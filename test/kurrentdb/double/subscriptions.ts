import { type ServerWritableStream, type ServiceError, status } from '@grpc/grpc-js'
import type { ReadReq, ReadResp } from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js'
import type { ServerFaults } from './faults.ts'
import type { ServerLog } from './log.ts'
import { checkpoint, confirmation, failure, filterOf, recordedEvent } from './messages.ts'

/** A search window of the server, when the client asks for no other. */
const WINDOW = 32

type Running = { readonly call: ServerWritableStream<ReadReq, ReadResp>; readonly end: () => void }

/** Everybody who follows the whole log: what is there after a position, then what comes, and a checkpoint now and then. */
export function subscriptions(log: ServerLog, faults: Pick<ServerFaults, 'mostWaiting' | 'untold'>) {
  const running = new Set<Running>()
  const asked: (bigint | 'start')[] = []

  function add(call: ServerWritableStream<ReadReq, ReadResp>, options: ReadReq.Options): void {
    const given = options.getAll()?.getPosition()?.getCommitPosition()
    asked.push(given === undefined ? 'start' : BigInt(given))
    const isWanted = filterOf(options)
    const every = WINDOW * (options.getFilter()?.getCheckpointintervalmultiplier() ?? 1)
    let index = given === undefined ? 0 : log.all().findIndex(({ position }) => position > BigInt(given))
    if (index < 0) index = log.all().length
    let [looked, waiting] = [0, 0]
    let sentAny = false

    function pump(): void {
      for (; index < log.all().length; index++) {
        const record = log.all()[index]
        if (!record) return
        if (isWanted(record) && !faults.untold.has(record.stream)) {
          waiting++
          sentAny = true
          call.write(recordedEvent(record), () => waiting--)
          if (waiting > faults.mostWaiting) return drop(one, failure(status.ABORTED, 'the consumer is too slow'))
        }
        if (++looked % every === 0) {
          sentAny = true
          call.write(checkpoint(record.position))
        }
      }
    }

    const one: Running = { call, end: log.watch(pump) }
    running.add(one)
    call.on('cancelled', () => remove(one))
    call.write(confirmation())
    pump()
    // EventStoreDB before 24.10.5: caught up, and nothing was sent yet.
    if (given === undefined && !sentAny) call.write(checkpoint(2n ** 64n - 1n))
  }

  function remove(one: Running): void {
    one.end()
    running.delete(one)
  }

  /** @param error what the call ends with; without it, it ends as if all were said */
  function drop(one: Running, error?: ServiceError): void {
    remove(one)
    if (error) one.call.emit('error', error)
    else one.call.end()
  }

  return {
    add,
    /** From where each subscription was asked for, in order. */
    asked: asked as readonly (bigint | 'start')[],
    count: (): number => running.size,
    drop(error?: ServiceError): void {
      for (const one of running) drop(one, error)
    },
    /** Says nothing more to those who follow now, and breaks nothing off. */
    forget(): void {
      for (const one of running) remove(one)
    },
  }
}
