/**
 * Variables that the server's process is started with. glibc raises the size from which on blocks are given back to the system
 * with every such block that is freed (mallopt(3), M_MMAP_THRESHOLD), and then keeps what an estimate no longer needs; a size that
 * is set stays as it is. Other systems' allocators do not read it.
 */
export const SERVER_ENVIRONMENT = { MALLOC_MMAP_THRESHOLD_: "131072" } as const;
