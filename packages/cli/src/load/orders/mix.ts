import type { RandomGenerator } from './random.ts'

/** Named shares of the whole, in percent. */
export type Mix<Word extends string> = readonly { readonly word: Word; readonly percent: number }[]

/** The kinds of orders. A kind determines the API that places the order, and the behaviour of the buyer. */
export const ORDER_KINDS = ['buy', 'lsps1', 'manual', 'abandon', 'cancel'] as const
export type OrderKind = (typeof ORDER_KINDS)[number]

/** Behaviours of sellers: three general options, and the values of `penstock sim behave`. */
export const SELLER_BEHAVIOUR_OPTIONS = [
  'good',
  'slow',
  'fails',
  'silent',
  'never-open',
  'wrong-size',
  'wrong-peer',
  'vanish',
] as const
export type SellerBehaviourOption = (typeof SELLER_BEHAVIOUR_OPTIONS)[number]

/** @param text as `buy:70,lsps1:30`. @throws RangeError with an explanation */
export function parseMix<Word extends string>(text: string, names: readonly Word[]): Mix<Word> {
  const shares = text.split(',').map((part) => parseShare(part.trim(), names))
  const repeated = shares.find(({ word }, index) => shares.findIndex((share) => share.word === word) !== index)
  if (repeated) throw new RangeError(`It names ${repeated.word} twice.`)
  const sum = shares.reduce((total, { percent }) => total + percent, 0)
  // Users write thirds as 33.33, 33.33 and 33.34. The tolerance only covers rounding errors of binary fractions.
  if (Math.abs(sum - 100) > 1e-6) throw new RangeError(`Its shares add up to ${Number(sum.toFixed(6))} instead of 100.`)
  return shares
}

function parseShare<Word extends string>(part: string, names: readonly Word[]): Mix<Word>[number] {
  const [name = '', amount, ...rest] = part.split(':')
  const word = names.find((known) => known === name.trim())
  if (word === undefined) throw new RangeError(`"${name}" is not one of ${names.join(', ')}.`)
  if (amount === undefined || rest.length > 0) throw new RangeError(`"${part}" is not written as ${word}:percent.`)
  const percent = /^-?\d+(\.\d+)?$/.test(amount.trim()) ? Number(amount) : Number.NaN
  if (!Number.isFinite(percent)) throw new RangeError(`The share of ${word} is "${amount}", which is not a number.`)
  if (percent <= 0) throw new RangeError(`The share of ${word} is ${percent}: leave it out, or give it more than 0.`)
  return { word, percent }
}

export function drawFromMix<Word extends string>(shares: Mix<Word>, random: RandomGenerator): Word {
  let remaining = random() * shares.reduce((total, { percent }) => total + percent, 0)
  for (const { word, percent } of shares) {
    if (remaining < percent) return word
    remaining -= percent
  }
  const last = shares.at(-1)
  if (!last) throw new RangeError('There are no shares to draw from.')
  return last.word
}

export const formatMix = (shares: Mix<string>): string => shares.map(({ word, percent }) => `${word}:${percent}`).join(',')
