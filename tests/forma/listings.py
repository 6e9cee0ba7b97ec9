"""The programs of the paper's Listings 3 to 15, made whole where they are fragments.

Where a listing has a slip, or our text of the paper lacks it, a comment says what is
written in its place; docs/forma.md gives the reasons.
"""

from __future__ import annotations

HELLO = """\
struct RGB {
  int8 r; int8 g; int8 b;
}
parameter M, N;
vector#2 RGB input[M,N];
output = input;
return output;
"""

JACOBI = """\
stencil jacobi2d(vector#2 int X){
  y_pt = 4*X - (X@[-1,0]+X@[0,-1]+X@[1,0]+X@[0,1]);
  return y_pt;
}
parameter M,N;
vector#2 int x[M,N];
y = jacobi2d(x:constant(0));
return y;
"""

SAMPLING = """\
stencil sample_x(vector#2 int X){
  x_pt = (X@[(-1,2),0]+2*X@[(0,2),0]+X@[(1,2),0])/4;
  return x_pt;
}
stencil sample_y(vector#2 int Y){
  y_pt = (Y@[0,(-1,2)]+2*Y@[0,(0,2)]+Y@[0,(1,2)])/4;
  return y_pt;
}
parameter M,N;
vector#2 int image[M,N];
temp = sample_x(image);
return sample_y(temp);
"""

EXTRAPOLATION = """\
stencil upsample_x_even(vector#2 int X){
  x_even = (3*X + X@[-1,0]) / 4;
  return x_even;
}
parameter M,N;
vector#2 int image[M,N];
temp@[(0,2),0] = upsample_x_even(image);
return temp;
"""

# Listing 7 has no body in our text: both steps of Listing 2, by its Section 2.2.
COMPOSE = """\
stencil upsample_x_even(vector#2 int X){ return (3*X + X@[-1,0]) / 4; }
stencil upsample_x_odd(vector#2 int X){ return (3*X + X@[1,0]) / 4; }
stencil upsample_y_even(vector#2 int X){ return (3*X + X@[0,-1]) / 4; }
stencil upsample_y_odd(vector#2 int X){ return (3*X + X@[0,1]) / 4; }
parameter M,N;
vector#2 int image[M,N];
temp = (@[(0,2),0] = upsample_x_even(image);
        @[(1,2),0] = upsample_x_odd(image); );
output = (@[0,(0,2)] = upsample_y_even(temp);
          @[0,(1,2)] = upsample_y_odd(temp); );
return output;
"""

CROP = """\
parameter M,N;
vector#2 int x[M,N];
y = x[3..25,5..29];
z[3..,5..] = x;
return y, z;
"""

# Listing 9 has no body in our text: three domains stacked, by Section 2.3.
STACK = """\
parameter M,N;
vector#2 int x[M,N], y[M,N], z[M,N];
stack = ([0..,0..,0..] = x;
         [0..,0..,1..] = y;
         [0..,0..,2..] = z; );
return stack;
"""

# Listing 10 has jacobi1d and jacobi1D, and N where N-1 is the last point. Its bdy0 and
# bdyN are two points wide, of which one is without all its neighbours: it is cut off.
BOUNDARY = """\
stencil jacobi1d(vector#2 int X){
  return (X@[-1,0] + 2*X + X@[1,0])/4;
}
stencil bdy0(vector#2 int X){
  return (3*X + X@[1,0])/4;
}
stencil bdyN(vector#2 int X){
  return (3*X + X@[-1,0])/4;
}
parameter N;
vector#2 int a[N,N];
b = ([0..,0..] = bdy0(a[0..1,0..N-1])[0..0,0..N-1];
     [1..,0..] = jacobi1d(a)[1..N-2,0..N-1];
     [N-1..,0..] = bdyN(a[N-2..N-1,0..N-1])[1..1,0..N-1]; );
return b;
"""

# Listings 11 and 13: the stencils are by the prose of Sections 2.4.1 and 3.1, and by
# the paper's reference [19]; exposure is what Figure 2 calls well_exposed.
EXPOSURE = """\
struct rgb { float r; float g; float b; }
stencil make_grey(vector#2 rgb X){
  return 0.299*X.r + 0.587*X.g + 0.114*X.b;
}
stencil laplacian(vector#2 float X){
  return abs(X@[-1,0] + X@[1,0] + X@[0,-1] + X@[0,1] - 4*X);
}
stencil saturation(vector#2 rgb X){
  mean = (X.r + X.g + X.b)/3;
  return sqrt(((X.r-mean)*(X.r-mean) + (X.g-mean)*(X.g-mean)
               + (X.b-mean)*(X.b-mean))/3);
}
stencil well_exposed(vector#2 rgb X){
  r = X.r - 0.5; g = X.g - 0.5; b = X.b - 0.5;
  return exp(-12.5*r*r) * exp(-12.5*g*g) * exp(-12.5*b*b);
}
stencil multiply(vector#2 float L, vector#2 float S, vector#2 float E){
  return L*S*E + 1e-6;
}
stencil combine(vector#2 float W1, vector#2 rgb X1, vector#2 float W2, vector#2 rgb X2){
  w = W1 + W2;
  return rgb((W1*X1.r + W2*X2.r)/w, (W1*X1.g + W2*X2.g)/w, (W1*X1.b + W2*X2.b)/w);
}
vector compute_weights(vector#2 rgb X){
  grey = make_grey(X);
  laplacian = laplacian(grey);
  saturation = saturation(X);
  well_exposed = well_exposed(X);
  return multiply(laplacian, saturation, well_exposed);
}
parameter M,N;
vector#2 rgb image1[M,N], image2[M,N];
weights1 = compute_weights(image1);
weights2 = compute_weights(image2);
return combine(weights1,image1,weights2,image2);
"""

# Listing 12: the operands of subtract are exchanged, so that a level of the laplacian
# is one of the gaussian less what the next one tells of it, and it has that one's
# number. The sampling stencils are those of Listings 1 and 2, of floats.
PYRAMID = """\
stencil sample_x(vector#2 float X){ return (X@[(-1,2),0]+2*X@[(0,2),0]+X@[(1,2),0])/4; }
stencil sample_y(vector#2 float Y){ return (Y@[0,(-1,2)]+2*Y@[0,(0,2)]+Y@[0,(1,2)])/4; }
stencil upsample_x_even(vector#2 float X){ return (3*X + X@[-1,0])/4; }
stencil upsample_x_odd(vector#2 float X){ return (3*X + X@[1,0])/4; }
stencil upsample_y_even(vector#2 float Y){ return (3*Y + Y@[0,-1])/4; }
stencil upsample_y_odd(vector#2 float Y){ return (3*Y + Y@[0,1])/4; }
stencil subtract(vector#2 float X, vector#2 float Y){ return X - Y; }
vector sample(vector#2 float Z){
  return sample_y(sample_x(Z));
}
vector upsample_x(vector#2 float X){
  return
    (@[(0,2),(0,1)] = upsample_x_even(X);
     @[(1,2),(0,1)] = upsample_x_odd(X); );
}
vector upsample_y(vector#2 float Y){
  return
    (@[(0,1),(0,2)] = upsample_y_even(Y);
     @[(0,1),(1,2)] = upsample_y_odd(Y); );
}
vector upsample(vector#2 float Z){
  return upsample_y(upsample_x(Z));
}
parameter M,N;
vector#2 float image[M,N];
gaussian<0> = image;
for i = 1..3
  gaussian<i> = sample(gaussian<i-1>);
  laplacian<i-1> = subtract(gaussian<i-1>, upsample(gaussian<i>));
endfor
laplacian<3> = gaussian<3>;
return laplacian<0>, laplacian<1>, laplacian<2>, laplacian<3>;
"""

# Listing 14 has no body in our text: "a simple 5-pt stencil" (Section 4.1).
EMBOSS = """\
stencil emboss(vector#2 float X){
  return X@[1,0] + X@[0,1] - X@[-1,0] - X@[0,-1] + X;
}
parameter M,N;
vector#2 float input[M,N];
return emboss(input);
"""

BLUR = """\
stencil blurx(vector#2 float X){
  return X@[-1,0] + X + X@[1,0];
}
stencil blury(vector#2 float Y){
  return Y@[0,-1] + Y + Y@[0,1];
}
parameter M,N;
vector#2 float input[M,N];
return blury(blurx(input));
"""

#: Each by the number of its listing.
LISTINGS = {
    3: HELLO,
    4: JACOBI,
    5: SAMPLING,
    6: EXTRAPOLATION,
    7: COMPOSE,
    8: CROP,
    9: STACK,
    10: BOUNDARY,
    11: EXPOSURE,
    12: PYRAMID,
    14: EMBOSS,
    15: BLUR,
}
