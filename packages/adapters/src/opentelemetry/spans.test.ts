import assert from 'node:assert/strict'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { SpanDescription } from '@penstock/runtime/observability/tracing.ts'
import { test } from 'vitest'
import { createPresetIds } from './span-ids.ts'
import { createTracing } from './spans.ts'

const ORDER = '4bf92f3577b34da6a3ce929d0e0e4736'
const OTHER = '1af7651916cd43dd8448eb211c80319c'
const about = (name: string, more: Partial<SpanDescription> = {}): SpanDescription => ({
  name,
  trace: ORDER,
  attributes: {},
  ...more,
})

function traced() {
  const exporter = new InMemorySpanExporter()
  const ids = createPresetIds()
  const provider = new TracerProvider({ idGenerator: ids.generator, spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const names = (): readonly string[] => exporter.getFinishedSpans().map(({ name }) => name)
  const find = (name: string) => exporter.getFinishedSpans().find((span) => span.name === name)
  return { tracing: createTracing(provider.getTracer('test'), ids), names, find }
}

test('a span has the enclosing span as its parent only if both belong to one trace', async () => {
  const { tracing, find } = traced()
  await tracing.span(about('outer'), async () => {
    await tracing.span(about('inner'), async () => undefined)
    await tracing.span(about('elsewhere', { trace: OTHER }), async () => undefined)
  })
  assert.equal(find('inner')?.parentSpanContext?.spanId, find('outer')?.spanContext().spanId)
  assert.deepEqual([find('outer')?.spanContext().traceId, find('outer')?.parentSpanContext], [ORDER, undefined])
  assert.deepEqual([find('elsewhere')?.spanContext().traceId, find('elsewhere')?.parentSpanContext], [OTHER, undefined])
})

test('a span has the id and the parent that are given, and a traceparent contains the id of the sending span', async () => {
  const { tracing, find } = traced()
  await tracing.span(about('sends'), async () => {
    assert.equal(
      tracing.traceparent(ORDER),
      `00-${ORDER}-${find('sends')?.spanContext().spanId ?? tracing.traceparent(ORDER)?.slice(36, 52)}-01`,
    )
    assert.equal(tracing.traceparent(OTHER), undefined)
  })
  tracing.recordSpan(about('relay', { id: '00000000000000aa', parent: '00000000000000bb' }), 1000)
  const relay = find('relay')
  assert.deepEqual([relay?.spanContext().spanId, relay?.parentSpanContext?.spanId], ['00000000000000aa', '00000000000000bb'])
})

test('an idle root is dropped with the spans below it, and any other root is exported with them', async () => {
  const { tracing, names } = traced()
  const poll = (isIdle: boolean) =>
    tracing.span(
      about(`poll ${isIdle}`),
      async () => {
        await tracing.span(about(`below ${isIdle}`), async () => undefined)
        tracing.recordSpan(about(`past ${isIdle}`), 1000)
      },
      () => ({ attributes: {}, isIdle }),
    )
  await poll(true)
  assert.deepEqual(names(), [])
  await poll(false)
  assert.deepEqual(names(), ['poll false', 'below false', 'past false'])
  await tracing.span(
    about('repeated', { parent: '00000000000000bb' }),
    async () => undefined,
    () => ({ attributes: {}, isIdle: true }),
  )
  assert.ok(names().includes('repeated'))
})

test('a failed span is exported without the message of its error', async () => {
  const { tracing, find } = traced()
  const failing = tracing.span(about('fails'), () => Promise.reject(new TypeError('a secret')))
  await assert.rejects(failing)
  assert.ok(!JSON.stringify(find('fails')?.status).includes('secret'))
  assert.equal(find('fails')?.status.message, 'TypeError')
})

test('a request has a span in each trace that it touches, with a link to its caller', async () => {
  const { tracing, find, names } = traced()
  const caller = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`
  await tracing.request(caller, async (request) => {
    await tracing.span(about('send'), async () => undefined)
    // A consumer in the same process handles the message. Its span is no longer a part of the request.
    await tracing.span(about('handle', { parent: '00000000000000bb' }), () =>
      tracing.span(about('other', { trace: OTHER }), async () => undefined),
    )
    request.end('POST /graphql', { 'http.route': '/graphql' }, false)
    await tracing.span(about('late', { trace: OTHER }), async () => undefined)
  })
  assert.deepEqual(names().filter((name) => name === 'POST /graphql').length, 1)
  const request = find('POST /graphql')
  assert.equal(find('send')?.parentSpanContext?.spanId, request?.spanContext().spanId)
  assert.equal(request?.links[0]?.context.traceId, 'c'.repeat(32))
  assert.deepEqual([find('other')?.parentSpanContext, find('late')?.parentSpanContext], [undefined, undefined])
})

test('a request with an invalid or missing traceparent has no link', async () => {
  for (const caller of [undefined, 'nonsense', `00-${'0'.repeat(32)}-${'d'.repeat(16)}-01`]) {
    const { tracing, find } = traced()
    await tracing.request(caller, async (request) => {
      await tracing.span(about('send'), async () => undefined)
      request.end('GET /', {}, true)
    })
    assert.deepEqual(find('GET /')?.links, [])
  }
})
