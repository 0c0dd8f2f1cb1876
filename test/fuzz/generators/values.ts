import fc from 'fast-check'
import { toJson, type JsonNode, createNode, createRawNode } from './json-node.ts'

/** Property names with a special meaning in JavaScript. */
export const PROTOTYPE_NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '__defineGetter__',
]

const pickConstant = (...values: readonly unknown[]) => fc.constantFrom(...values)
const LONE_SURROGATES = ['\ud800', '\udfff', 'a\udc00b', '\ud83d', '\udc00\ud800']
const CONTROLS = [
  '\u0000',
  '\u0001',
  '\u001b[31m',
  '\b',
  '\u007f',
  '\u0085',
  '\u2028',
  '\ufeff',
  '\r\nx-evil: 1\r\n\r\n',
  '\t',
  '\n',
]
const RIGHT_TO_LEFT = ['\u202e0001', '\u2067abc\u2069', '\u05e2\u05d1\u05e8', '\u200f123', '\u0663\u0664\u0665']
const LOOKALIKES = [
  '\uff15\uff10\uff10',
  '\uff50sk_',
  '\ufb01',
  '\u00e9',
  'e\u0301',
  '\u0130',
  '\u017f',
  '\u2460',
  'A\u200dB',
  '\u{1f469}\u200d\u{1f467}',
  '\u{1d7d3}',
  '\ufffc',
  '\uffff',
]
const NUMBER_TEXTS = [
  '1e3',
  '-1',
  '+1',
  '0x10',
  '007',
  '1.0',
  '.5',
  ' 5',
  '5 ',
  '1_000',
  '1,000',
  'NaN',
  'Infinity',
  '-0',
  '0b1',
  '1n',
  '',
]
const INJECTION_TEXTS = [
  "'; drop table orders; --",
  '" or 1=1 --',
  '<script>alert(1)</script>',
  '{{7*7}}',
  '${7*7}',
  '<%= 7*7 %>',
  '../../../../etc/passwd',
  '%00',
  '%2e%2e%2f',
  '$(id)',
  '`id`',
  'javascript:alert(1)',
  'file:///etc/passwd',
  'http://169.254.169.254/latest',
  '*',
  '%',
  '_',
  '?',
  '\\',
  '\\u0000',
]
const INVALID_NUMBERS = [
  'NaN',
  'Infinity',
  '-Infinity',
  '1e999',
  '-1e999',
  '-0',
  '01',
  '0x1F',
  '1.',
  '.1',
  '1e',
  '+1',
  '1_0',
  '9'.repeat(400),
  '0.1e-400',
]
const HUGE_NUMBERS = [
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 32,
  2 ** 53,
  2 ** 53 + 2,
  -(2 ** 53),
  1e21,
  1e300,
  Number.MAX_VALUE,
  4294967297,
]
const HUGE_TEXTS = [
  '9007199254740993',
  '18446744073709551616',
  `1${'0'.repeat(17)}`,
  '9'.repeat(18),
  '9'.repeat(19),
  '9'.repeat(5000),
]

const generateNested = (open: string, close: string) =>
  fc.constantFrom(3, 40, 500, 5000).map((depth) => createRawNode('deep nesting', open.repeat(depth) + close.repeat(depth)))
const generateTexts = (...list: readonly string[]) =>
  fc.tuple(fc.constantFrom(...list), fc.constantFrom('', 'x', '5')).map(([text, before]) => before + text)
const ofKind = (kind: string, values: fc.Arbitrary<unknown>): fc.Arbitrary<JsonNode> =>
  values.map((value) => createNode(kind, value))

const valuesByKind: Readonly<Record<string, fc.Arbitrary<JsonNode>>> = {
  null: ofKind('null', pickConstant(null)),
  boolean: ofKind('boolean', fc.boolean()),
  'small number': ofKind('small number', fc.integer({ min: 0, max: 1000 })),
  'negative number': ofKind('negative number', fc.integer({ min: -(2 ** 31), max: -1 })),
  'huge number': ofKind('huge number', pickConstant(...HUGE_NUMBERS)),
  fraction: ofKind('fraction', pickConstant(0.5, 1.5, -0.1, 1e-300, 2.5, 499.999_999)),
  'number that is none': fc.constantFrom(...INVALID_NUMBERS).map((text) => createRawNode('number that is none', text)),
  'number as text': ofKind('number as text', fc.oneof(fc.constantFrom(...NUMBER_TEXTS), fc.integer().map(String))),
  'huge number as text': ofKind('huge number as text', fc.constantFrom(...HUGE_TEXTS)),
  'empty text': ofKind('empty text', pickConstant('', ' ', '\u00a0', '\u3000')),
  'short text': ofKind('short text', fc.string({ maxLength: 20 })),
  'huge text': fc
    .tuple(fc.constantFrom('z', '9', '\u00e9', '\u0000', ' ', '%', '@'), fc.constantFrom(300, 5000, 60_000, 500_000))
    .map(([one, count]) => createNode('huge text', one.repeat(count))),
  'any unicode': ofKind('any unicode', fc.string({ unit: 'binary', maxLength: 40 })),
  'lone surrogate': ofKind('lone surrogate', generateTexts(...LONE_SURROGATES)),
  'control character': ofKind('control character', generateTexts(...CONTROLS)),
  'right to left': ofKind('right to left', generateTexts(...RIGHT_TO_LEFT)),
  lookalike: ofKind('lookalike', generateTexts(...LOOKALIKES)),
  injection: ofKind('injection', fc.constantFrom(...INJECTION_TEXTS)),
  'prototype name': ofKind('prototype name', fc.constantFrom(...PROTOTYPE_NAMES)),
  'prototype key': fc
    .tuple(fc.constantFrom(...PROTOTYPE_NAMES), fc.constantFrom('{"isAdmin":true}', 'null', '"x"', '{"toString":1}'))
    .map(([name, value]) => ({ json: `{${toJson(name)}:${value}}`, literal: `{${name}:${value}}`, kinds: ['prototype key'] })),
  'repeated key': fc
    .constantFrom('{"limit":1,"limit":"x"}', '{"a":1,"a":{"a":2}}', '{"input":{},"input":null}')
    .map((text) => createRawNode('repeated key', text)),
  'deep nesting': fc.oneof(generateNested('[', ']'), generateNested('{"input":', '}'), generateNested('[{"a":', '}]')),
  list: ofKind('list', fc.array(fc.oneof(pickConstant(null, '', 1), fc.constant([[]])), { maxLength: 4 })),
  'long list': ofKind(
    'long list',
    fc.constantFrom(100, 5000).map((length) => Array.from({ length }, (_, at) => at)),
  ),
  object: ofKind('object', pickConstant({}, { length: 1e9 }, { id: 'x' }, { $ne: null }, { toJSON: 1 }, { then: 'x' })),
}

export const valueKinds: readonly string[] = Object.keys(valuesByKind)

/** Generates a value of any kind, which replaces the intended value. */
export const invalidValue: fc.Arbitrary<JsonNode> = fc.oneof(...Object.values(valuesByKind))

/** Generates a text with a small mistake, as JSON. */
export const nearMiss = (text: string): fc.Arbitrary<JsonNode> =>
  fc
    .constantFrom<(value: string) => string>(
      (value) => `${value} `,
      (value) => ` ${value}`,
      (value) => `${value}\u0000`,
      (value) => `${value}\n`,
      (value) => value.toUpperCase(),
      (value) => value.slice(0, -1),
      (value) => value.slice(1),
      (value) => value + value,
      (value) => `${value}0`,
      (value) => value.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
      (value) => value.replace(/[a-z]/, (letter) => String.fromCodePoint(0xff41 + letter.charCodeAt(0) - 97)),
      (value) => Array.from(value).toReversed().join(''),
      (value) => encodeURIComponent(encodeURIComponent(value)),
      (value) => value.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
    )
    .map((mutate) => createNode('nearly right', mutate(text)))
