import type { Random } from './random.ts'

/** What a share of the whole does, in percent. */
export type Shares<Word extends string> = readonly { readonly word: Word; readonly percent: number }[]

/** What one order is: who asks for it, and how the buyer behaves. */
export const KINDS = ['buy', 'lsps1', 'manual', 'abandon', 'cancel'] as const
export type Kind = (typeof KINDS)[number]

/** How sellers behave: in three plain words, or in those of `penstock sim behave`. */
export const BEHAVIOURS = ['good', 'slow', 'fails', 'silent', 'never-open', 'wrong-size', 'wrong-peer', 'vanish'] as const
export type Behaviour = (typeof BEHAVIOURS)[number]

/** @param text as `buy:70,lsps1:30`. @throws RangeError with a sentence */
export function readShares<Word extends string>(text: string, words: readonly Word[]): Shares<Word> {
  const shares = text.split(',').map((part) => readShare(part.trim(), words))
  const twice = shares.find(({ word }, index) => shares.findIndex((share) => share.word === word) !== index)
  if (twice) throw new RangeError(`It names ${twice.word} twice.`)
  const sum = shares.reduce((total, { percent }) => total + percent, 0)
  // Thirds are written as 33.33, 33.33 and 33.34; what binary fractions lose is less.
  if (Math.abs(sum - 100) > 1e-6) throw new RangeError(`Its shares add up to ${Number(sum.toFixed(6))}, and have to be 100.`)
  return shares
}

function readShare<Word extends string>(part: string, words: readonly Word[]): Shares<Word>[number] {
  const [name = '', amount, ...rest] = part.split(':')
  const word = words.find((known) => known === name.trim())
  if (word === undefined) throw new RangeError(`"${name}" is none of ${words.join(', ')}.`)
  if (amount === undefined || rest.length > 0) throw new RangeError(`"${part}" is not written as ${word}:percent.`)
  const percent = /^-?\d+(\.\d+)?$/.test(amount.trim()) ? Number(amount) : Number.NaN
  if (!Number.isFinite(percent)) throw new RangeError(`The share of ${word} is "${amount}", which is no number.`)
  if (percent <= 0) throw new RangeError(`The share of ${word} is ${percent}: leave it out, or give it more than 0.`)
  return { word, percent }
}

export function draw<Word extends string>(shares: Shares<Word>, random: Random): Word {
  let left = random() * shares.reduce((total, { percent }) => total + percent, 0)
  for (const { word, percent } of shares) {
    if (left < percent) return word
    left -= percent
  }
  const last = shares.at(-1)
  if (!last) throw new RangeError('There are no shares to draw from.')
  return last.word
}

export const sharesText = (shares: Shares<string>): string => shares.map(({ word, percent }) => `${word}:${percent}`).join(',')
