import { type ServerWritableStream, type ServiceError, status } from '@grpc/grpc-js'
import type { ReadReq, ReadResp } from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js'
import type { ServerFaults } from './faults.ts'
import type { ServerLog } from './log.ts'
import { createCheckpoint, createConfirmation, createServiceError, parseFilter, createReadEvent } from './messages.ts'

/** The server's search window in events, if the client requests no other. */
const WINDOW = 32

type Subscription = { readonly call: ServerWritableStream<ReadReq, ReadResp>; readonly end: () => void }

/** The double's subscriptions to its log. Each receives the stored events after a position, then new events, with checkpoints. */
export function createLogSubscriptions(log: ServerLog, faults: Pick<ServerFaults, 'maxWaiting' | 'hiddenStreams'>) {
  const active = new Set<Subscription>()
  const startPositions: (bigint | 'start')[] = []

  function add(call: ServerWritableStream<ReadReq, ReadResp>, options: ReadReq.Options): void {
    const startPosition = options.getAll()?.getPosition()?.getCommitPosition()
    startPositions.push(startPosition === undefined ? 'start' : BigInt(startPosition))
    const isRequested = parseFilter(options)
    const checkpointInterval = WINDOW * (options.getFilter()?.getCheckpointintervalmultiplier() ?? 1)
    let index = startPosition === undefined ? 0 : log.all().findIndex(({ position }) => position > BigInt(startPosition))
    if (index < 0) index = log.all().length
    let [recordsSeen, unsent] = [0, 0]
    let sentAny = false

    function pump(): void {
      for (; index < log.all().length; index++) {
        const record = log.all()[index]
        if (!record) return
        if (isRequested(record) && !faults.hiddenStreams.has(record.stream)) {
          unsent++
          sentAny = true
          call.write(createReadEvent(record), () => unsent--)
          if (unsent > faults.maxWaiting)
            return drop(subscription, createServiceError(status.ABORTED, 'the consumer is too slow'))
        }
        if (++recordsSeen % checkpointInterval === 0) {
          sentAny = true
          call.write(createCheckpoint(record.position))
        }
      }
    }

    const subscription: Subscription = { call, end: log.watch(pump) }
    active.add(subscription)
    call.on('cancelled', () => remove(subscription))
    call.write(createConfirmation())
    pump()
    // EventStoreDB before 24.10.5 sends this checkpoint when a subscription has read the whole log without a response.
    if (startPosition === undefined && !sentAny) call.write(createCheckpoint(2n ** 64n - 1n))
  }

  function remove(subscription: Subscription): void {
    subscription.end()
    active.delete(subscription)
  }

  /** @param error the error that ends the call; without it, the call ends normally */
  function drop(subscription: Subscription, error?: ServiceError): void {
    remove(subscription)
    if (error) subscription.call.emit('error', error)
    else subscription.call.end()
  }

  return {
    add,
    /** The requested start position of each subscription, in order. */
    startPositions: startPositions as readonly (bigint | 'start')[],
    count: (): number => active.size,
    drop(error?: ServiceError): void {
      for (const subscription of active) drop(subscription, error)
    },
    /** Stops sending to the current subscriptions, and leaves their calls open. */
    forget(): void {
      for (const subscription of active) remove(subscription)
    },
  }
}
