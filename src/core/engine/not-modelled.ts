/** Something the graph needs and the engine does not know. */
export class NotModelled extends Error {}
