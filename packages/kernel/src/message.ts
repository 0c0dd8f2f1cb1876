/** A fact as its stream stores it. `v` is the version of this type's shape. */
export type Fact<Type extends string = string, Data = object> = {
  readonly type: Type
  readonly v: number
  readonly data: Data
}

/** A request for one decision. `at` is in milliseconds since 1970, and a decision reads no other clock. */
export type Command<Type extends string = string, Data = object> = {
  readonly type: Type
  readonly id: string
  readonly at: number
  readonly data: Data
}
