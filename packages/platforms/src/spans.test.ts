import assert from 'node:assert/strict'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { About } from '@penstock/runtime/tracing.ts'
import { test } from 'vitest'
import { chosenIds } from './span-ids.ts'
import { spans } from './spans.ts'

const ORDER = '4bf92f3577b34da6a3ce929d0e0e4736'
const OTHER = '1af7651916cd43dd8448eb211c80319c'
const about = (name: string, more: Partial<About> = {}): About => ({ name, trace: ORDER, attributes: {}, ...more })

function traced() {
  const exporter = new InMemorySpanExporter()
  const ids = chosenIds()
  const provider = new TracerProvider({ idGenerator: ids.generator, spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const names = (): readonly string[] => exporter.getFinishedSpans().map(({ name }) => name)
  const find = (name: string) => exporter.getFinishedSpans().find((span) => span.name === name)
  return { tracing: spans(provider.getTracer('test'), ids), names, find }
}

test('a span hangs on the one around it, in its own trace only', async () => {
  const { tracing, find } = traced()
  await tracing.span(about('outer'), async () => {
    await tracing.span(about('inner'), async () => undefined)
    await tracing.span(about('elsewhere', { trace: OTHER }), async () => undefined)
  })
  assert.equal(find('inner')?.parentSpanContext?.spanId, find('outer')?.spanContext().spanId)
  assert.deepEqual([find('outer')?.spanContext().traceId, find('outer')?.parentSpanContext], [ORDER, undefined])
  assert.deepEqual([find('elsewhere')?.spanContext().traceId, find('elsewhere')?.parentSpanContext], [OTHER, undefined])
})

test('a derived id and a parent that is said are kept, and what is sent names the span that sends it', async () => {
  const { tracing, find } = traced()
  await tracing.span(about('sends'), async () => {
    assert.equal(
      tracing.traceparent(ORDER),
      `00-${ORDER}-${find('sends')?.spanContext().spanId ?? tracing.traceparent(ORDER)?.slice(36, 52)}-01`,
    )
    assert.equal(tracing.traceparent(OTHER), undefined)
  })
  tracing.past(about('relay', { id: '00000000000000aa', parent: '00000000000000bb' }), 1000)
  const relay = find('relay')
  assert.deepEqual([relay?.spanContext().spanId, relay?.parentSpanContext?.spanId], ['00000000000000aa', '00000000000000bb'])
})

test('a root that found nothing is not kept, nor what was below it; what happened is', async () => {
  const { tracing, names } = traced()
  const look = (isIdle: boolean) =>
    tracing.span(
      about(`look ${isIdle}`),
      async () => {
        await tracing.span(about(`below ${isIdle}`), async () => undefined)
        tracing.past(about(`past ${isIdle}`), 1000)
      },
      () => ({ attributes: {}, isIdle }),
    )
  await look(true)
  assert.deepEqual(names(), [])
  await look(false)
  assert.deepEqual(names(), ['look false', 'below false', 'past false'])
  await tracing.span(
    about('repeated', { parent: '00000000000000bb' }),
    async () => undefined,
    () => ({ attributes: {}, isIdle: true }),
  )
  assert.ok(names().includes('repeated'))
})

test('a failed span is kept and tells no message', async () => {
  const { tracing, find } = traced()
  const failing = tracing.span(about('fails'), () => Promise.reject(new TypeError('a secret')))
  await assert.rejects(failing)
  assert.ok(!JSON.stringify(find('fails')?.status).includes('secret'))
  assert.equal(find('fails')?.status.message, 'TypeError')
})

test('a request has a span in each trace that it touches, once it is known which, and links its caller', async () => {
  const { tracing, find, names } = traced()
  const caller = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`
  await tracing.request(caller, async (request) => {
    await tracing.span(about('send'), async () => undefined)
    // Handled in the same process by whoever was woken by it: no longer a part of the request.
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

test('a caller that sends nonsense, or nothing, is linked to nothing', async () => {
  for (const caller of [undefined, 'nonsense', `00-${'0'.repeat(32)}-${'d'.repeat(16)}-01`]) {
    const { tracing, find } = traced()
    await tracing.request(caller, async (request) => {
      await tracing.span(about('send'), async () => undefined)
      request.end('GET /', {}, true)
    })
    assert.deepEqual(find('GET /')?.links, [])
  }
})
