import { type sendUnaryData, type ServerDuplexStream, type ServerReadableStream, status } from '@grpc/grpc-js'
import type {
  AppendReq,
  AppendResp,
  BatchAppendReq,
  BatchAppendResp,
} from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js'
import type { ServerNode } from './faults.ts'
import type { ProposedEvent } from './log.ts'
import {
  createAppendResponse,
  createBatchAppendResponse,
  createBatchError,
  createServiceError,
  parseProposedEvent,
  bytesToText,
} from './messages.ts'

const createShutdownError = () => createServiceError(status.UNAVAILABLE, 'the node is shutting down')

/** Handles Append: one append per call. */
export const handleAppend =
  ({ log, faults, refusal }: ServerNode) =>
  (call: ServerReadableStream<AppendReq, AppendResp>, callback: sendUnaryData<AppendResp>): void => {
    const refusedError = refusal('append', call.metadata)
    if (refusedError) return callback(refusedError)
    let options: AppendReq.Options | undefined
    const events: ProposedEvent[] = []
    call.on('data', (request: AppendReq) => {
      options = request.getOptions() ?? options
      const message = request.getProposedMessage()
      if (message) events.push(parseProposedEvent(message))
    })
    call.on('end', () => {
      if (!options || faults.silentCalls.has('append')) return
      const stream = bytesToText(options.getStreamIdentifier()?.getStreamName())
      const stored = log.append(stream, options.hasNoStream() ? undefined : BigInt(options.getRevision()), events)
      if (faults.lostAnswers === 'breaking') callback(createShutdownError())
      else if (!faults.lostAnswers) callback(null, createAppendResponse(stored, faults.hasPositions))
    })
  }

type OpenBatch = { readonly options: BatchAppendReq.Options; readonly events: ProposedEvent[] }

/** Handles BatchAppend: any number of appends per call, each in one or more messages. */
export const handleBatchAppend =
  ({ log, faults, calls, refusal }: ServerNode) =>
  (call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>): void => {
    const refusedError = refusal('batchAppend', call.metadata)
    if (refusedError) return void call.emit('error', refusedError)
    const openBatches = new Map<string, OpenBatch>()

    function store(correlation: string, { options, events }: OpenBatch): void {
      const stream = bytesToText(options.getStreamIdentifier()?.getStreamName())
      if (faults.batchError) return void call.write(createBatchError(stream, correlation, faults.batchError))
      const stored = log.append(stream, options.hasNoStream() ? undefined : BigInt(options.getStreamPosition()), events)
      if (faults.lostAnswers === 'breaking') call.emit('error', createShutdownError())
      else if (!faults.lostAnswers) call.write(createBatchAppendResponse(stream, correlation, stored, faults.hasPositions))
    }

    call.on('data', (request: BatchAppendReq) => {
      if (faults.silentCalls.has('append')) {
        calls.push({ kind: 'stalled', credentials: undefined, prefixes: [] })
        return void call.pause()
      }
      const correlation = request.getCorrelationId()?.getString() ?? ''
      const options = request.getOptions()
      if (options) openBatches.set(correlation, { options, events: [] })
      const batch = openBatches.get(correlation)
      if (!batch) return
      batch.events.push(...request.getProposedMessagesList().map(parseProposedEvent))
      if (!request.getIsFinal()) return
      openBatches.delete(correlation)
      const lateRefusal = refusal('batchAppend', call.metadata)
      if (lateRefusal) call.emit('error', lateRefusal)
      else store(correlation, batch)
    })
    call.on('end', () => call.end())
  }
